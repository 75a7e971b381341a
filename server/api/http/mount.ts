import type { Context, Hono } from "hono";
import type { z } from "zod";
import { AppError, issuesOf } from "../../platform/index.ts";
import type { Services } from "../../services/index.ts";
import { maxJsonBytes, readLimited } from "../read-limited.ts";
import { requireCaller } from "./auth.ts";
import type { HttpRoute } from "./route.ts";

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

/** A path id of a wrong form is answered like an unknown one. */
function parseParams(route: HttpRoute, params: Record<string, string>): unknown {
  const result = route.params?.safeParse(params);
  if (result && !result.success) throw new AppError("not_found");
  return result?.data;
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

/** Adds a route of the table to the app: caller first, then params, query and body by its schemas. */
export function mountRoute(app: Hono, services: Services, route: HttpRoute): void {
  app.on(route.method.toUpperCase(), route.path.replaceAll(/\{(\w+)\}/g, ":$1"), handlerFor(services, route));
}
