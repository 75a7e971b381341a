/** Codes of the system when a disk or a quota is full. */
const fullCodes: ReadonlySet<unknown> = new Set(["ENOSPC", "EDQUOT", "EFBIG"]);
/** When a disk became read-only, or too many files are open. */
const closedCodes: ReadonlySet<unknown> = new Set(["EROFS", "EMFILE", "ENFILE"]);

/** Of libvips, which writes what does not fit into memory to the system's temporary folder, and has words instead of codes. */
const fullWords = /\bNo space left on device\b|\bDisk quota exceeded\b/;
const closedWords =
  /\bRead-only file system\b|\bToo many open files\b|unable to write to "[^"]*vips-[\d-]+\.v"/;

function hasWords(error: unknown, words: RegExp): boolean {
  return error instanceof Error && words.test(error.message);
}

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
  return hasCode(error, fullCodes) || hasWords(error, fullWords);
}

/** Whether an error, or one of its causes, means that no file can be written or opened at the moment. */
export function isOutOfSpace(error: unknown): boolean {
  return isDiskFull(error) || hasCode(error, closedCodes) || hasWords(error, closedWords);
}
