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

/** Turns anything thrown into an AppError: unknown errors become `internal` and keep the original as cause. */
export function toAppError(error: unknown): AppError {
  return isAppError(error) ? error : new AppError("internal", undefined, { cause: error });
}

export function ruleOf(code: ErrorCode): ErrorRule {
  return errorRules[code];
}

/** Whether a stored text is a code of the table. */
export function isErrorCode(value: string): value is ErrorCode {
  return Object.hasOwn(errorRules, value);
}
