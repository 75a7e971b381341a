/** Codes of the system when a disk or a quota is full. */
const fullCodes: ReadonlySet<unknown> = new Set(["ENOSPC", "EDQUOT", "EFBIG"]);
/** When a disk became read-only, or too many files are open. */
const closedCodes: ReadonlySet<unknown> = new Set(["EROFS", "EMFILE", "ENFILE"]);

function hasCode(error: unknown, codes: ReadonlySet<unknown>): boolean {
  let current = error;
  for (let depth = 0; depth < 6 && current instanceof Error; depth += 1) {
    if ("code" in current && codes.has(current.code)) return true;
    current = current.cause;
  }
  return false;
}

/** Whether an error, or one of its causes, means that a disk or a quota is full. */
export function isDiskFull(error: unknown): boolean {
  return hasCode(error, fullCodes);
}

/** Whether an error, or one of its causes, means that no file can be written or opened at the moment. */
export function isOutOfSpace(error: unknown): boolean {
  return isDiskFull(error) || hasCode(error, closedCodes);
}
