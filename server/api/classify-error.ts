import { isDatabaseAway } from "../db/index.ts";
import { AppError, isAppError, toAppError } from "../platform/index.ts";

function* causesOf(error: unknown): Generator<Error> {
  let current = error;
  for (let depth = 0; depth < 6 && current instanceof Error; depth += 1) {
    yield current;
    current = current.cause;
  }
}

/** The AppError that a caller sees: the first of the chain of causes, `database_unavailable`, `storage_unavailable`, or `internal`. */
export function classifyError(error: unknown): AppError {
  const causes = [...causesOf(error)];
  const known = causes.find(isAppError);
  if (known) return known;
  if (causes.some(isDatabaseAway)) return new AppError("database_unavailable", undefined, { cause: error });
  return toAppError(error);
}
