import { Hono, type Context } from "hono";
import { AppError, ruleOf } from "../../platform/index.ts";
import type { Services } from "../../services/index.ts";
import { classifyError } from "../classify-error.ts";
import { docsPage } from "./docs.ts";
import { mountRoute } from "./mount.ts";
import { openApiDocument } from "./openapi.ts";
import { problemResponse } from "./problem.ts";
import { httpRoutes } from "./routes/index.ts";

const httpBasePath = "/api/v1";

function logRequest(services: Services, context: Context, startedAtMs: number): void {
  const durationMs = Math.round(performance.now() - startedAtMs);
  const { method, path } = context.req;
  services.log.info({ method, path, status: context.res.status, durationMs }, "http request");
}

/** The HTTP API under /api/v1 as one fetch handler: `createHttpApp(services).fetch(request)`. */
export function createHttpApp(services: Services): Hono {
  const app = new Hono().basePath(httpBasePath);
  app.use(async (context, next) => {
    const startedAtMs = performance.now();
    await next();
    logRequest(services, context, startedAtMs);
  });
  app.onError((error) => {
    const appError = classifyError(error);
    if (ruleOf(appError.code).httpStatus >= 500)
      services.log.error({ code: appError.code, err: appError.cause ?? appError }, "http request failed");
    return problemResponse(appError);
  });
  app.notFound(() => problemResponse(new AppError("not_found")));
  app.get("/openapi.json", (context) => context.json(openApiDocument(httpRoutes, services.config.limits)));
  app.get("/docs", (context) => context.html(docsPage(openApiDocument(httpRoutes, services.config.limits))));
  for (const route of httpRoutes) mountRoute(app, services, route);
  return app;
}

const appByServices = new WeakMap<Services, Hono>();

/** Answers a request below /api/v1 with the one app of these services. */
export function handleHttp(services: Services, request: Request): Promise<Response> | Response {
  const app = appByServices.get(services) ?? createHttpApp(services);
  appByServices.set(services, app);
  return app.fetch(request);
}
