import { AppError, isAppError, isErrorCode, isOutOfSpace, type ErrorCode } from "@atelier/server/platform";
import type { WireError } from "./messages.ts";

/** Packs anything thrown in the child; what is not an AppError becomes `engine_failed`, a full disk `storage_unavailable`. */
export function packError(thrown: unknown): WireError {
  const trace = thrown instanceof Error ? thrown.stack : String(thrown);
  const error = isAppError(thrown) ? thrown : new AppError(codeOf(thrown));
  return {
    code: error.code,
    message: error.message,
    ...(error.details && { details: error.details }),
    ...(trace && { trace }),
  };
}

export function unpackError(wire: WireError): AppError {
  const code = isErrorCode(wire.code) ? wire.code : "engine_failed";
  return new AppError(code, wire.message, {
    ...(wire.details && { details: wire.details }),
    cause: wire.trace,
  });
}

function codeOf(thrown: unknown): ErrorCode {
  if (isOutOfSpace(thrown)) return "storage_unavailable";
  return isMemoryError(thrown) ? "out_of_memory" : "engine_failed";
}

/** The runtime gives a code only where its own native parts ask for memory; for arrays it has words alone. */
function isMemoryError(thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return false;
  if ("code" in thrown && thrown.code === "ERR_MEMORY_ALLOCATION_FAILED") return true;
  return thrown instanceof RangeError && /allocation failed/i.test(thrown.message);
}
