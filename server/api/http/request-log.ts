import type { Context, Hono } from "hono";
import {
  type AppError,
  requestIdHeader,
  isFault,
  underRequestId,
  underTraceparent,
} from "../../platform/index.ts";
import type { Services } from "../../services.ts";
import { keepPrivate } from "../requests.ts";

/** Gives each request of an app an id and a line in the log, and keeps its answer private. */
export function logRequests(app: Hono, services: Services): void {
  app.use((context, next) => {
    const received = {
      id: context.req.header(requestIdHeader),
      forwardedFor: context.req.header("x-forwarded-for"),
      agent: context.req.header("user-agent"),
    };
    return underRequestId(received, async (requestId) => {
      const startedAtMs = performance.now();
      await underTraceparent(context.req.header("traceparent") ?? null, next);
      context.header(requestIdHeader, requestId);
      keepPrivate(context.res);
      logRequest(services, context, startedAtMs);
    });
  });
}

/** Of a signed address the log has the picture's id alone: whoever has all of it may read the picture. */
const cutSigned = (path: string) => path.replace(/^(\/v1\/images\/files\/[^./]*).*$/s, "$1…");

function logRequest(services: Services, context: Context, startedAtMs: number): void {
  const durationMs = Math.round(performance.now() - startedAtMs);
  const { method, path } = context.req;
  services.log.info(
    { method, path: cutSigned(path), status: context.res.status, durationMs },
    "http request",
  );
}

/** Logs the cause of an error that is not the caller's. */
export function logFailure(services: Services, error: AppError): void {
  if (isFault(error.code))
    services.log.error({ code: error.code, err: error.cause ?? error }, "http request failed");
}
