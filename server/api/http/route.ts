import { z } from "zod";
import {
  type Caller,
  deadKey,
  type KeyRight,
  refuseLack,
  requireRight,
  resolveCaller,
  rightFor,
} from "../../accounts/index.ts";
import { AppError, type ErrorCode, errorRules, toProblem } from "../../platform/index.ts";
import type { Services } from "../../services.ts";
import { retell } from "../../words.ts";
import { admitRead, admitWrite } from "../requests.ts";

const readMethods = new Set(["GET", "HEAD"]);

const sentKey = ({ headers }: Request) => /^bearer /i.test(headers.get("authorization") ?? "");

type Requirement = Pick<RouteFacts, "counts" | "right">;

/**
 * The caller of an HTTP request. Throws `unauthorized` without a caller, `forbidden` for a key without the right, and
 * `forbidden` or `rate_limited` for a write by session that is not admitted.
 */
export async function requireCaller(
  services: Services,
  request: Request,
  { counts, right = rightFor(request.method) }: Requirement = {},
): Promise<Caller> {
  const caller = await resolveCaller(services, request.headers);
  if (!caller) throw new AppError("unauthorized", sentKey(request) ? deadKey : undefined);
  const isAdminsRight = right === "admin" || right === "metrics";
  if (isAdminsRight) refuseLack(caller);
  requireRight(caller, right);
  // An admin's alone: of keys with a list `rightsOf` has seen to it, the others have every right.
  if (isAdminsRight && !caller.isAdmin && !caller.rights) throw new AppError("forbidden");
  if (readMethods.has(request.method)) await admitRead(services, caller);
  else await admitWrite(services, request, { caller, counts });
  return caller;
}

/** RFC 9457. The same shape in every answer that is not a success, with members of its own where a code has figures to tell. */
export const problemSchema = z.looseObject({
  type: z.literal("about:blank"),
  title: z.string(),
  status: z.int(),
  detail: z.string().describe("For people"),
  code: z.enum(Object.keys(errorRules) as [ErrorCode, ...ErrorCode[]]).describe("For programs"),
  errors: z
    .array(z.object({ path: z.string(), message: z.string() }))
    .optional()
    .describe("The wrong fields"),
  requestId: z.string().optional().describe("Names the request in the studio's log, as `X-Request-Id` does"),
});

/** An error as `application/problem+json`. */
export function problemResponse(error: AppError): Response {
  const { status, headers, body } = toProblem(error);
  const detail = retell(error.message) ?? error.message;
  return new Response(JSON.stringify({ ...body, detail }), { status, headers });
}

type Method = "get" | "post" | "put" | "patch" | "delete";
/** What a route's path id names; used by the generated access tests. */
type Resource = "job" | "batch" | "image" | "board" | "link" | "upload" | "webhook" | "delivery";

type Parsed<Schema extends z.ZodType | undefined> = Schema extends z.ZodType ? z.output<Schema> : undefined;

export interface RouteInput<Params, Query, Headers, Body> {
  readonly services: Services;
  readonly caller: Caller;
  readonly params: Params;
  readonly query: Query;
  readonly headers: Headers;
  readonly body: Body;
  /** For multipart bodies, Range and the abort signal. */
  readonly request: Request;
}

export interface RouteResponse {
  readonly description: string;
  /** JSON body; without it, `contentType` names the type of the answer. */
  readonly schema?: z.ZodType;
  readonly contentType?: string;
}

/** An example of a request in one language, as OpenAPI's extension `x-codeSamples` has it. */
interface CodeSample {
  readonly lang: string;
  readonly label: string;
  readonly source: string;
}

interface RouteFacts {
  readonly method: Method;
  /** In the form of OpenAPI, below /api/v1: `/jobs/{id}`. */
  readonly path: `/${string}`;
  /** Unique, camelCase. */
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tag: string;
  /** Required when the path holds `{id}`. */
  readonly resource?: Resource;
  /** A multipart body, described as a JSON schema; the handler reads it from the request itself. */
  readonly multipart?: Readonly<Record<string, unknown>>;
  /** What a write by session counts as; `writes` by default, `null`: it belongs to one that was counted. */
  readonly counts?: "uploads" | "identified" | null;
  /** What a key needs; by default what the method needs. */
  readonly right?: KeyRight;
  /** A request without a body counts as one with `{}`. */
  readonly isBodyOptional?: true;
  /** Describes a JSON body that the handler's verb parses itself; the route's `body` then lets anything through. */
  readonly bodyDescription?: z.ZodType;
  /** Examples of requests to `address`, where those that the viewer makes itself are wrong. */
  readonly samples?: (address: string) => readonly CodeSample[];
  /** Answers of success by status; problems are added to the document by themselves. */
  readonly responses: Readonly<Record<number, RouteResponse>>;
}

interface RouteSchemas<
  Params extends z.ZodObject | undefined,
  Query extends z.ZodObject | undefined,
  Headers extends z.ZodObject | undefined,
  Body extends z.ZodType | undefined,
> {
  readonly params?: Params;
  readonly query?: Query;
  /** Names in lower case. */
  readonly headers?: Headers;
  readonly body?: Body;
}

/** A route of the HTTP API: its description and its handler in one; every route needs a caller. */
export interface HttpRoute extends RouteFacts {
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  readonly headers?: z.ZodObject;
  readonly body?: z.ZodType;
  handle(input: RouteInput<unknown, unknown, unknown, unknown>): Promise<Response>;
}

/** Declares a route; the handler's params, query, headers and body are typed by the schemas that parse them. */
export function defineRoute<
  Params extends z.ZodObject | undefined = undefined,
  Query extends z.ZodObject | undefined = undefined,
  Headers extends z.ZodObject | undefined = undefined,
  Body extends z.ZodType | undefined = undefined,
>(
  route: RouteFacts &
    RouteSchemas<Params, Query, Headers, Body> & {
      handle(
        input: RouteInput<Parsed<Params>, Parsed<Query>, Parsed<Headers>, Parsed<Body>>,
      ): Promise<Response>;
    },
): HttpRoute {
  // Safe: `http/app.ts` calls `handle` only with values that these schemas parsed.
  return route as unknown as HttpRoute;
}
