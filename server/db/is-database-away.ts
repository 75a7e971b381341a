import { DrizzleQueryError } from "drizzle-orm";

/** Classes of SQLSTATE that say nothing about the statement: connection, resources, operator's stop. */
const passingClasses = ["08", "53", "57"];
/** Deadlock, serialization, a session ended for idling in its transaction, and a write to a read-only database. */
const passingStates = ["40001", "40P01", "25P03", "25006"];

/** Of the network alone: a full or missing folder is nothing that the database could mend. */
const networkCodes = /^E(?:CONN|PIPE|TIMEDOUT|NOTFOUND|AI_|HOST|NET)/;

function readCode(error: Error): string | null {
  return "code" in error && typeof error.code === "string" ? error.code : null;
}

/**
 * Whether a query failed for a reason that passes: the server was away or read-only, or the connection broke. Such an error has a
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
  if (networkCodes.test(code)) return true;
  // A socket in the file system that is not there, or not yet.
  if ("syscall" in error && error.syscall === "connect") return true;
  return passingClasses.includes(code.slice(0, 2)) || passingStates.includes(code);
}
