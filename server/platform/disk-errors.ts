/** Codes of the system when a disk or a quota is full. */
const fullCodes: ReadonlySet<unknown> = new Set(["ENOSPC", "EDQUOT", "EFBIG"]);
/** When a disk became read-only, does not read or write any more or is gone, or too many files are open. */
const closedCodes: ReadonlySet<unknown> = new Set([
  "EROFS",
  "EMFILE",
  "ENFILE",
  "EIO",
  "ENXIO",
  "ENODEV",
  "EREMOTEIO",
]);
/** On Linux, without a name in Node: EBADMSG and EUCLEAN of a damaged file system, ESTALE of a share whose server began anew. */
const closedNumbers: ReadonlySet<unknown> = new Set([-74, -117, -116]);

/** Of libvips, which writes what does not fit into memory to the system's temporary folder, and has words instead of codes. */
const fullWords = /\bNo space left on device\b|\bDisk quota exceeded\b/;
const closedWords =
  /\bRead-only file system\b|\bToo many open files\b|unable to write to "[^"]*vips-[\d-]+\.v"/;

function hasWords(error: unknown, words: RegExp): boolean {
  return error instanceof Error && words.test(error.message);
}

function inChain(error: unknown, isSuch: (one: NodeJS.ErrnoException) => boolean): boolean {
  let current = error;
  for (let depth = 0; depth < 6 && current instanceof Error; depth += 1) {
    if (isSuch(current)) return true;
    current = current.cause;
  }
  return false;
}

const hasCode = (error: unknown, codes: ReadonlySet<unknown>) =>
  inChain(error, ({ code }) => codes.has(code));

/** Sockets have the code, too: of a file, the program behind its mount (FUSE) has ended. */
const isLost = ({ code, errno, path }: NodeJS.ErrnoException) =>
  closedNumbers.has(errno) || (code === "ENOTCONN" && path !== undefined);

/** Whether an error, or one of its causes, means that a disk or a quota is full. */
export function isDiskFull(error: unknown): boolean {
  return hasCode(error, fullCodes) || hasWords(error, fullWords);
}

/** Whether an error, or one of its causes, means that no file can be written or opened at the moment. */
export function isOutOfSpace(error: unknown): boolean {
  return (
    isDiskFull(error) || hasCode(error, closedCodes) || inChain(error, isLost) || hasWords(error, closedWords)
  );
}
