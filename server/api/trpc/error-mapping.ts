import { TRPCError } from "@trpc/server";
import { z } from "zod";
import { AppError, isAppError, issuesOf, ruleOf, type ErrorCode } from "../../platform/index.ts";
import { classifyError } from "../classify-error.ts";

type TrpcCode = TRPCError["code"];

const trpcCodeByStatus: Readonly<Record<number, TrpcCode>> = {
  400: "BAD_REQUEST",
  401: "UNAUTHORIZED",
  403: "FORBIDDEN",
  404: "NOT_FOUND",
  409: "CONFLICT",
  410: "NOT_FOUND",
  413: "PAYLOAD_TOO_LARGE",
  415: "UNSUPPORTED_MEDIA_TYPE",
  422: "UNPROCESSABLE_CONTENT",
  429: "TOO_MANY_REQUESTS",
  502: "BAD_GATEWAY",
  503: "SERVICE_UNAVAILABLE",
  504: "GATEWAY_TIMEOUT",
};

/** Errors that tRPC itself makes: a wrong input, an unknown procedure, a wrong method. */
const appCodeByTrpcCode: Partial<Record<TrpcCode, ErrorCode>> = {
  BAD_REQUEST: "bad_request",
  PARSE_ERROR: "bad_request",
  METHOD_NOT_SUPPORTED: "bad_request",
  UNSUPPORTED_MEDIA_TYPE: "bad_request",
  NOT_FOUND: "not_found",
  UNAUTHORIZED: "unauthorized",
  FORBIDDEN: "forbidden",
  PAYLOAD_TOO_LARGE: "request_too_large",
};

/** The AppError behind whatever a procedure threw. */
export function appErrorOf(error: TRPCError): AppError {
  if (error.cause instanceof z.ZodError)
    return new AppError("bad_request", undefined, {
      details: { issues: issuesOf(error.cause) },
      cause: error,
    });
  if (isAppError(error.cause)) return error.cause;
  const code = appCodeByTrpcCode[error.code];
  return code ? new AppError(code, undefined, { cause: error }) : classifyError(error.cause ?? error);
}

/** Anything thrown as the TRPCError that reaches the client; the original stays as cause. */
export function toTrpcError(error: unknown): TRPCError {
  const appError = error instanceof TRPCError ? appErrorOf(error) : classifyError(error);
  const code = trpcCodeByStatus[ruleOf(appError.code).httpStatus] ?? "INTERNAL_SERVER_ERROR";
  return new TRPCError({ code, message: appError.message, cause: appError });
}
