import { type Context, Hono } from "hono";
import type { z } from "zod";
import {
  AppError,
  issuesOf,
  lineOfIssues,
  originOf,
  parseRequest,
  requireReadable,
  keptBy,
  textOfRequest,
} from "../../platform/index.ts";
import type { Services } from "../../services.ts";
import { speakTo } from "../../words.ts";
import { iopaintApi } from "../clients/iopaint.ts";
import { mountClientApi } from "../clients/route.ts";
import { answerUnrouted } from "../methods.ts";
import { classifyError, isJson, maxJsonBytes, readLimited } from "../requests.ts";
import { exportRoute, ownKeyRoute } from "./account.ts";
import { auditRoutes } from "./audit.ts";
import { batchRoutes } from "./batches.ts";
import { boardRoutes } from "./boards.ts";
import { directUploadRoutes } from "./direct-uploads.ts";
import { mountDocs } from "./docs.ts";
import { sharedBoardRoutes } from "./shared-boards.ts";
import { withoutBody } from "./streams.ts";
import { identifyRoute } from "./identify.ts";
import { imageRoutes } from "./images.ts";
import { jobBundleRoute, jobEventsRoute, listWorkflowChoices, listWorkflows } from "./job-files.ts";
import { jobRoutes } from "./jobs.ts";
import { duplicateRoutes } from "./duplicates.ts";
import { scalingRoute } from "./metrics.ts";
import { linkRoutes } from "./links.ts";
import { openApiDocument } from "./openapi.ts";
import { logFailure, logRequests } from "./request-log.ts";
import { type HttpRoute, problemResponse, requireCaller } from "./route.ts";
import { createUpload } from "./uploads.ts";
import { webhookRoutes } from "./webhooks.ts";

/** Every route of the HTTP API. Serving, documentation and access tests all read this table. */
export const httpRoutes: readonly HttpRoute[] = [
  createUpload,
  identifyRoute,
  ...directUploadRoutes,
  ...imageRoutes,
  ...boardRoutes,
  ...sharedBoardRoutes,
  ...jobRoutes,
  jobEventsRoute,
  jobBundleRoute,
  ...batchRoutes,
  ...duplicateRoutes,
  ...linkRoutes,
  ...webhookRoutes,
  listWorkflows,
  listWorkflowChoices,
  exportRoute,
  ownKeyRoute,
  scalingRoute,
  ...auditRoutes,
];

const httpBasePath = "/api/v1";

const unknownAddress = `There is nothing here under that address. ${httpBasePath}/openapi.json lists what there is; ids are UUIDs.`;

const appOf = keptBy(createHttpApp);

/** Answers a request below /api/v1 with the one app of these services. */
export function handleHttp(services: Services, request: Request): Promise<Response> | Response {
  // Programs with a key read English, whatever their library accepts.
  if (request.headers.has("authorization")) return appOf(services).fetch(request);
  return speakTo(request.headers, async () => appOf(services).fetch(request));
}

/** The HTTP API under /api/v1 as one fetch handler: `createHttpApp(services).fetch(request)`. */
export function createHttpApp(services: Services): Hono {
  const app = new Hono().basePath(httpBasePath);
  logRequests(app, services);
  app.onError((error) => {
    const appError = classifyError(error);
    logFailure(services, appError);
    return problemResponse(appError);
  });
  answerUnrouted(app, undefined, unknownAddress);
  const installation = { limits: services.config.limits, origin: originOf(services.env) };
  app.get("/openapi.json", (context) => context.json(openApiDocument(httpRoutes, installation)));
  mountDocs(app);
  for (const route of httpRoutes) mountRoute(app, services, route);
  // Not in the document: these are the paths of another program's API, see docs/clients.md.
  mountClientApi(app, services, { api: iopaintApi, prefix: "" });
  return app;
}

/** Adds a route of the table to the app: caller first, then params, query and body by its schemas. */
function mountRoute(app: Hono, services: Services, route: HttpRoute): void {
  app.on(route.method.toUpperCase(), patternOf(route), handlerFor(services, route));
}

/** `id` has the characters of a UUID, so that `/jobs/estimate` is not a job of that id; ids of users have others, too. */
export function patternOf({ path }: Pick<HttpRoute, "path">): string {
  return path
    .replaceAll("{id}", ":id{[0-9a-fA-F-]+}")
    .replaceAll(/(?<=\/)\{(\w+)\}/g, String.raw`:$1{[\w-]+}`);
}

function handlerFor(services: Services, route: HttpRoute) {
  return async (context: Context): Promise<Response> => {
    const request = context.req.raw;
    const caller = await requireCaller(services, request, route);
    const response = await route.handle({
      services,
      caller,
      request,
      params: parseParams(route, context.req.param()),
      query: parse(route.query, context.req.query()),
      headers: parse(route.headers, context.req.header()),
      body: route.body && parse(route.body, await readJson(request, route)),
    });
    return request.method === "HEAD" ? withoutBody(response) : response;
  };
}

/** A path id of a wrong form is answered like an unknown one. */
function parseParams(route: HttpRoute, params: Record<string, string>): unknown {
  const result = route.params?.safeParse(params);
  if (result && !result.success) throw new AppError("not_found");
  return result?.data;
}

function parse(schema: z.ZodType | undefined, value: unknown): unknown {
  if (!schema) return undefined;
  requireReadable(value);
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issues = issuesOf(result.error);
  throw new AppError("bad_request", lineOfIssues(issues), { details: { issues } });
}

async function readJson(
  request: Request,
  { isBodyOptional }: Pick<HttpRoute, "isBodyOptional">,
): Promise<unknown> {
  if (isBodyOptional === true && isEmpty(request)) return {};
  if (!isJson(request)) throw new AppError("bad_request", "Send the body as application/json.");
  const bytes = await readLimited(request, maxJsonBytes);
  if (!bytes) throw new AppError("request_too_large");
  return parseRequest(textOfRequest(bytes));
}

/** Some clients name a type, or a length of 0, for a body that they do not send. */
function isEmpty({ body, headers }: Request): boolean {
  return body === null || headers.get("content-length") === "0";
}
