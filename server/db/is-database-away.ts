import { DrizzleQueryError } from "drizzle-orm";

/** Classes of SQLSTATE that say nothing about the statement: connection, resources, operator's stop. */
const passingClasses = ["08", "53", "57"];
/** Deadlock, serialization, and a session that was ended for idling in its transaction. */
const passingStates = ["40001", "40P01", "25P03"];

function readCode(error: Error): string | null {
  return "code" in error && typeof error.code === "string" ? error.code : null;
}

/**
 * Whether a query failed for a reason that passes: the server was away or the connection broke. Such an error has a
 * passing SQLSTATE, a code of the system (ECONNREFUSED), or none at all (the driver noticed the cut itself).
 */
export function isDatabaseAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof DrizzleQueryError) return error.cause instanceof Error && isPassing(error.cause);
  // `begin` and `commit` of a transaction fail with the driver's own error.
  const code = readCode(error);
  return code !== null && isPassing(error);
}

function isPassing(error: Error): boolean {
  const code = readCode(error);
  if (code === null) return true;
  if (!/^[0-9A-Z]{5}$/.test(code)) return /^E[A-Z]+$/.test(code);
  return passingClasses.includes(code.slice(0, 2)) || passingStates.includes(code);
}
