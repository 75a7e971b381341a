import { open } from "node:fs/promises";
import { isOutOfSpace } from "./disk-errors.ts";
import { AppError, type ErrorCode, toAppError } from "./errors.ts";

/** What libvips says, or a library below it, where it gets no memory; some of it behind "corrupt header". */
const noMemory =
  /\bout of memory\b|\binsufficient memory\b|memory allocation error|cannot allocate memory|bad_alloc/i;

/** Whether the machine lacked memory, or room on a disk. Node sets a code only for its own native allocations; for arrays there is only a message. */
export function isOwnLack(thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return false;
  if (isOutOfSpace(thrown)) return true;
  if ("code" in thrown && thrown.code === "ERR_MEMORY_ALLOCATION_FAILED") return true;
  if (thrown instanceof RangeError) return /allocation failed/i.test(thrown.message);
  return noMemory.test(thrown.message);
}

const ownMemory = "own_memory";

/** The error of a picture that was not decoded: `code` where it is damaged, `out_of_memory` or `storage_unavailable` where it may be whole. */
export function undecoded(code: ErrorCode, cause: unknown): AppError {
  if (isOutOfSpace(cause)) return toAppError(cause);
  return isOwnLack(cause)
    ? new AppError("out_of_memory", undefined, { cause, details: { reason: ownMemory } })
    : new AppError(code, undefined, { cause });
}

/** Whether this process lacked the memory, and no server that it asked. */
export const isOwnMemory = ({ details }: AppError): boolean => details?.["reason"] === ownMemory;

/** The same of a file. What keeps it from being opened is the error then: sharp calls such a file one of an unknown format. */
export const undecodedFile = (file: string, code: ErrorCode, cause: unknown): Promise<unknown> =>
  open(file).then(
    async (handle) => {
      await handle.close();
      return undecoded(code, cause);
    },
    (error: unknown) => error,
  );
