import { STATUS_CODES } from "node:http";
import type { ErrorCode } from "./error-codes.ts";
import { ruleOf, type AppError } from "./errors.ts";

const retryAfterSeconds: Partial<Record<ErrorCode, number>> = {
  rate_limited: 60,
  queue_full: 60,
  database_unavailable: 5,
  storage_unavailable: 5,
  storage_full: 60,
};

/** An answer over HTTP that is not a success, after RFC 9457. */
export interface Problem {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
}

/** An error as `application/problem+json`; further `details` that are safe to show stand beside the standard members. */
export function toProblem(error: AppError): Problem {
  const { httpStatus } = ruleOf(error.code);
  const { issues, ...details } = error.details ?? {};
  const seconds = retryAfterSeconds[error.code];
  return {
    status: httpStatus,
    headers: {
      "content-type": "application/problem+json",
      "cache-control": "no-store",
      ...(seconds ? { "retry-after": String(seconds) } : {}),
    },
    body: {
      ...details,
      type: "about:blank",
      title: STATUS_CODES[httpStatus] ?? "Error",
      status: httpStatus,
      detail: error.message,
      code: error.code,
      ...(issues ? { errors: issues } : {}),
    },
  };
}
