import type { Hono } from "hono";
import { AppError, refusedMethodHeader } from "../platform/index.ts";
import { problemResponse } from "./http/route.ts";
import { withRequestId } from "./requests.ts";

/** The methods of routes; HEAD comes with GET, and OPTIONS with any. */
const methods = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;

/** What an address takes, as `Allow` says it: 204 to OPTIONS, 405 to another method. */
export function answerMethod(
  request: Request,
  allowed: readonly string[],
  toResponse = problemResponse,
): Response {
  const allow = [...allowed, "OPTIONS"].join(", ");
  // The server cannot hand on some methods, such as TRACE; they come as OPTIONS with this header.
  const isAsked = request.method === "OPTIONS" && !request.headers.has(refusedMethodHeader);
  if (isAsked) return new Response(null, { status: 204, headers: { allow, "cache-control": "no-store" } });
  const refused = toResponse(new AppError("method_not_allowed"));
  refused.headers.set("allow", allow);
  return refused;
}

type Answer<Input> = (input: Input, request: Request) => Promise<Response> | Response;

/** A handler of one address, which is asked by these methods alone. */
export function forMethods<Input>(allowed: readonly string[], answer: Answer<Input>): Answer<Input> {
  const taken = withHead(allowed);
  return (input, request) =>
    taken.includes(request.method)
      ? answer(input, request)
      : withRequestId(request, () => answerMethod(request, taken));
}

type ToResponse = (error: AppError) => Response;

/**
 * Answers what no route of an app takes: 404 for an unknown address, else as `answerMethod`; `shapeOf` gives how errors of an
 * address are shown, `unknown` what is said of an unknown one.
 */
export function answerUnrouted(
  app: Hono,
  shapeOf: (path: string) => ToResponse = () => problemResponse,
  unknown?: string,
): void {
  app.notFound(({ req }) => {
    const toResponse = shapeOf(req.path);
    const allowed = routedMethods(app, req.path);
    const isUnknown = allowed.length === 0 || allowed.includes(req.method);
    return isUnknown
      ? toResponse(new AppError("not_found", unknown))
      : answerMethod(req.raw, allowed, toResponse);
  });
}

function routedMethods(app: Hono, path: string): string[] {
  const count = (method: string) => app.router.match(method, path)[0].length;
  // What runs for each method is no route.
  const ofAll = count("NONE");
  return withHead(methods.filter((method) => count(method) > ofAll));
}

function withHead(allowed: readonly string[]): string[] {
  return allowed.flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method]));
}
