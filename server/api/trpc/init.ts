import { initTRPC } from "@trpc/server";
import superjson from "superjson";
import type { TrpcContext } from "./context.ts";
import { appErrorOf } from "./error-mapping.ts";

/** The tRPC instance; its error shape adds `data.appCode` (closed table) and `data.details` and never a stack. */
export const t = initTRPC.context<TrpcContext>().create({
  transformer: superjson,
  isDev: false,
  sse: {
    ping: { enabled: true, intervalMs: 10_000 },
    client: { reconnectAfterInactivityMs: 25_000 },
  },
  errorFormatter({ shape, error }) {
    const appError = appErrorOf(error);
    return {
      ...shape,
      message: appError.message,
      data: {
        code: shape.data.code,
        httpStatus: shape.data.httpStatus,
        path: shape.data.path,
        appCode: appError.code,
        details: appError.details ?? null,
      },
    };
  },
});
