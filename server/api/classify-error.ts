import { DrizzleQueryError } from "drizzle-orm/errors";
import { AppError, isAppError } from "../platform/index.ts";

const lostConnectionCodes = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "ENOTFOUND",
  "EPIPE",
  "ETIMEDOUT",
  // Admin shutdown, crash shutdown, cannot connect now, too many connections, and the class of connection errors.
  "57P01",
  "57P02",
  "57P03",
  "53300",
  "08000",
  "08003",
  "08006",
]);

function* causesOf(error: unknown): Generator<Error> {
  let current = error;
  for (let depth = 0; depth < 6 && current instanceof Error; depth += 1) {
    yield current;
    current = current.cause;
  }
}

function isLostDatabase(error: unknown): boolean {
  const causes = [...causesOf(error)];
  const query = causes.find((cause) => cause instanceof DrizzleQueryError);
  if (!query) return false;
  const root = causes.at(-1);
  // The pool's own errors (no free connection in time, connection ended) carry no code; those of a statement do.
  return root !== undefined && (!("code" in root) || lostConnectionCodes.has(String(root.code)));
}

/** The AppError that a caller sees: the first of the chain of causes, `database_unavailable`, or `internal`. */
export function classifyError(error: unknown): AppError {
  const known = [...causesOf(error)].find(isAppError);
  if (known) return known;
  return new AppError(isLostDatabase(error) ? "database_unavailable" : "internal", undefined, {
    cause: error,
  });
}
