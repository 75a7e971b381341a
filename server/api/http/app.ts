import { type Context, Hono } from "hono";
import type { z } from "zod";
import {
  AppError,
  issuesOf,
  originOf,
  requestIdHeader,
  ruleOf,
  underRequestId,
} from "../../platform/index.ts";
import type { Services } from "../../services.ts";
import { classifyError, maxJsonBytes, readLimited } from "../requests.ts";
import { directUploadRoutes } from "./direct-uploads.ts";
import { mountDocs } from "./docs.ts";
import { imageRoutes } from "./images.ts";
import { jobBundleRoute, jobEventsRoute, listWorkflows } from "./job-files.ts";
import { jobRoutes } from "./jobs.ts";
import { openApiDocument } from "./openapi.ts";
import { type HttpRoute, problemResponse, requireCaller } from "./route.ts";
import { createUpload } from "./uploads.ts";

/** Every route of the HTTP API. Serving, documentation and access tests all read this table. */
export const httpRoutes: readonly HttpRoute[] = [
  createUpload,
  ...directUploadRoutes,
  ...imageRoutes,
  ...jobRoutes,
  jobEventsRoute,
  jobBundleRoute,
  listWorkflows,
];

const httpBasePath = "/api/v1";

const appByServices = new WeakMap<Services, Hono>();

/** Answers a request below /api/v1 with the one app of these services. */
export function handleHttp(services: Services, request: Request): Promise<Response> | Response {
  const app = appByServices.get(services) ?? createHttpApp(services);
  appByServices.set(services, app);
  return app.fetch(request);
}

/** The HTTP API under /api/v1 as one fetch handler: `createHttpApp(services).fetch(request)`. */
export function createHttpApp(services: Services): Hono {
  const app = new Hono().basePath(httpBasePath);
  app.use((context, next) =>
    underRequestId(context.req.header(requestIdHeader), async (requestId) => {
      const startedAtMs = performance.now();
      await next();
      context.header(requestIdHeader, requestId);
      logRequest(services, context, startedAtMs);
    }),
  );
  app.onError((error) => {
    const appError = classifyError(error);
    if (ruleOf(appError.code).httpStatus >= 500)
      services.log.error({ code: appError.code, err: appError.cause ?? appError }, "http request failed");
    return problemResponse(appError);
  });
  app.notFound(() => problemResponse(new AppError("not_found")));
  const installation = { limits: services.config.limits, origin: originOf(services.env) };
  app.get("/openapi.json", (context) => context.json(openApiDocument(httpRoutes, installation)));
  mountDocs(app);
  for (const route of httpRoutes) mountRoute(app, services, route);
  return app;
}

function logRequest(services: Services, context: Context, startedAtMs: number): void {
  const durationMs = Math.round(performance.now() - startedAtMs);
  const { method, path } = context.req;
  services.log.info({ method, path, status: context.res.status, durationMs }, "http request");
}

/** Adds a route of the table to the app: caller first, then params, query and body by its schemas. */
function mountRoute(app: Hono, services: Services, route: HttpRoute): void {
  app.on(route.method.toUpperCase(), route.path.replaceAll(/\{(\w+)\}/g, ":$1"), handlerFor(services, route));
}

function handlerFor(services: Services, route: HttpRoute) {
  return async (context: Context): Promise<Response> => {
    const request = context.req.raw;
    const caller = await requireCaller(services, request);
    const response = await route.handle({
      services,
      caller,
      request,
      params: parseParams(route, context.req.param()),
      query: parse(route.query, context.req.query()),
      headers: parse(route.headers, context.req.header()),
      body: route.body && parse(route.body, await readJson(request)),
    });
    return request.method === "HEAD" ? withoutBody(response) : response;
  };
}

/** Hono drops the body of an answer to HEAD as it is, which would leave its source open. */
async function withoutBody(response: Response): Promise<Response> {
  await response.body?.cancel();
  return new Response(null, response);
}

/** A path id of a wrong form is answered like an unknown one. */
function parseParams(route: HttpRoute, params: Record<string, string>): unknown {
  const result = route.params?.safeParse(params);
  if (result && !result.success) throw new AppError("not_found");
  return result?.data;
}

function parse(schema: z.ZodType | undefined, value: unknown): unknown {
  if (!schema) return undefined;
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw new AppError("bad_request", undefined, { details: { issues: issuesOf(result.error) } });
}

async function readJson(request: Request): Promise<unknown> {
  if (!request.headers.get("content-type")?.startsWith("application/json"))
    throw new AppError("bad_request", "Send the body as application/json.");
  const bytes = await readLimited(request, maxJsonBytes);
  if (!bytes) throw new AppError("request_too_large");
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch (cause) {
    throw new AppError("bad_request", "The body is not valid JSON.", { cause });
  }
}
