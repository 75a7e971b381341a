import { initTRPC, TRPCError } from "@trpc/server";
import { getHTTPStatusCodeFromError } from "@trpc/server/http";
import { z } from "zod";
import { type Caller, resolveCaller } from "../../accounts/index.ts";
import {
  AppError,
  currentRequestId,
  type ErrorCode,
  isAppError,
  issuesOf,
  ruleOf,
} from "../../platform/index.ts";
import type { Services } from "../../services.ts";
import { retell } from "../../words.ts";
import { classifyError } from "../requests.ts";
import { wire } from "./wire.ts";

/** The context of every procedure; procedures of `memberProcedure` also have `caller`. */
export interface TrpcContext {
  readonly services: Services;
  readonly request: Request;
  /** Of the HTTP request, also for its stream, which goes on after the answer; null outside of one. */
  readonly requestId: string | null;
  /** The caller; resolved once per request, however many procedures a batch holds. */
  findCaller(): Promise<Caller | null>;
}

export function createContext(services: Services, request: Request): TrpcContext {
  let found: Promise<Caller | null> | undefined;
  return {
    services,
    request,
    requestId: currentRequestId(),
    findCaller: () => (found ??= resolveCaller(services, request.headers)),
  };
}

type TrpcCode = TRPCError["code"];

const trpcCodeByStatus: Readonly<Record<number, TrpcCode>> = {
  400: "BAD_REQUEST",
  401: "UNAUTHORIZED",
  402: "PAYMENT_REQUIRED",
  403: "FORBIDDEN",
  404: "NOT_FOUND",
  405: "METHOD_NOT_SUPPORTED",
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
  METHOD_NOT_SUPPORTED: "method_not_allowed",
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

/** The status of an error: that of the table, which tRPC's own codes cannot all name. */
function statusOf(error: TRPCError): number {
  return isAppError(error.cause) ? ruleOf(error.cause.code).httpStatus : getHTTPStatusCodeFromError(error);
}

/** The status of an answer whose calls all failed alike; undefined leaves it to tRPC, which answers a mixed batch by 207. */
export function statusOfAll(errors: readonly TRPCError[], calls: number): number | undefined {
  const [status, ...others] = new Set(errors.map(statusOf));
  return errors.length === calls && others.length === 0 ? status : undefined;
}

/**
 * The tRPC instance; its error shape adds `data.appCode` (closed table), `data.details`, `data.isTold` (the message is in the
 * words of the reader) and `data.requestId`, and never a stack.
 */
export const t = initTRPC.context<TrpcContext>().create({
  transformer: wire,
  isDev: false,
  errorFormatter({ shape, error, ctx }) {
    const appError = appErrorOf(error);
    const told = retell(appError.message);
    return {
      ...shape,
      message: told ?? appError.message,
      data: {
        code: shape.data.code,
        httpStatus: statusOf(error),
        path: shape.data.path,
        appCode: appError.code,
        details: appError.details ?? null,
        isTold: told !== null,
        requestId: ctx?.requestId ?? null,
      },
    };
  },
});
