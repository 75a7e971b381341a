import { errorRules, type ErrorCode, type ErrorRule } from "./error-codes.ts";

/** The one error of the product: a code of the closed table, a message for people, the cause for the log. */
export class AppError extends Error {
  readonly tag = "AppError";
  readonly code: ErrorCode;
  /** Figures or names that explain the error to a program, safe to show. */
  readonly details: Readonly<Record<string, unknown>> | undefined;

  constructor(
    code: ErrorCode,
    message?: string,
    options: { details?: Readonly<Record<string, unknown>>; cause?: unknown } = {},
  ) {
    super(message ?? errorRules[code].message, { cause: options.cause });
    this.name = "AppError";
    this.code = code;
    this.details = options.details;
  }
}

/** Recognises an AppError by its tag, also across module copies and process borders. */
export function isAppError(error: unknown): error is AppError {
  return error instanceof Error && "tag" in error && error.tag === "AppError";
}

/** What the system answers when a disk or a quota is full, a disk became read-only, or too many files are open. */
const noSpaceCodes = new Set<unknown>(["ENOSPC", "EDQUOT", "EFBIG", "EROFS", "EMFILE", "ENFILE"]);

/** Whether an error, or one of its causes, says that no file can be written or opened at the moment. */
export function isOutOfSpace(error: unknown): boolean {
  let current = error;
  for (let depth = 0; depth < 6 && current instanceof Error; depth += 1) {
    if ("code" in current && noSpaceCodes.has(current.code)) return true;
    current = current.cause;
  }
  return false;
}

/**
 * Turns anything thrown into an AppError with the original as cause: a full disk becomes `storage_unavailable`, which
 * costs a job no try; unknown errors become `internal`.
 */
export function toAppError(error: unknown): AppError {
  if (isAppError(error)) return error;
  return new AppError(isOutOfSpace(error) ? "storage_unavailable" : "internal", undefined, { cause: error });
}

export function ruleOf(code: ErrorCode): ErrorRule {
  return errorRules[code];
}

/** Whether a stored text is a code of the table. */
export function isErrorCode(value: string): value is ErrorCode {
  return Object.hasOwn(errorRules, value);
}
