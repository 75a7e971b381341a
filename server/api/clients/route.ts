import type { Context, Hono } from "hono";
import {
  deadKey,
  actAs,
  type Caller,
  type KeyRight,
  refuseLack,
  requireRight,
  resolveCaller,
  rightFor,
} from "../../accounts/index.ts";
import { AppError, lineOfText, requireReadable } from "../../platform/index.ts";
import type { Services } from "../../services.ts";
import { isStillCaller, withoutBody } from "../http/streams.ts";
import { logFailure } from "../http/request-log.ts";
import { classifyError, isCrossSite } from "../requests.ts";

export interface ClientInput {
  readonly services: Services;
  /** The owner of the API key. */
  readonly caller: Caller;
  readonly request: Request;
  /** Of `performance.now()`. */
  readonly startedAtMs: number;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
}

/** A route of another program's API, which keeps that API's path, body and answers. */
export interface ClientRoute {
  readonly method: "get" | "post";
  /** In the form of Hono: `/images/:userId`. */
  readonly path: `/${string}`;
  /** Unique, camelCase. */
  readonly operationId: string;
  /** Of an API key with chosen rights; by default what the method needs. */
  readonly right?: KeyRight;
  handle(input: ClientInput): Promise<Response>;
}

/** An address that is a secret by itself: whoever has it needs no key. */
export interface OpenRoute extends Omit<ClientRoute, "handle"> {
  handle(input: Omit<ClientInput, "caller">): Promise<Response>;
}

/** The API of another program: its routes, and how it shows errors. */
export interface ClientApi {
  readonly routes: readonly ClientRoute[];
  readonly openRoutes?: readonly OpenRoute[];
  /** Served with EXISTING_CLIENTS alone; without it the routes answer 404, also to callers without a key. */
  readonly isSwitched: boolean;
  errorResponse(error: AppError): Response;
  /** The same for an address or a method that it does not have, below its prefix; without it the answer is the studio's. */
  readonly unroutedResponse?: (error: AppError) => Response;
}

/** Adds the routes of an API to an app, below a prefix. */
export function mountClientApi(
  app: Hono,
  services: Services,
  { api, prefix }: { readonly api: ClientApi; readonly prefix: string },
): void {
  if (api.isSwitched && !services.env.EXISTING_CLIENTS) return;
  for (const route of api.routes)
    app.on(route.method.toUpperCase(), `${prefix}${route.path}`, (context) =>
      answer(services, context, api, async (input) =>
        route.handle({ ...input, caller: await requireKey(services, input.request, route.right) }),
      ),
    );
  for (const route of api.openRoutes ?? [])
    app.on(route.method.toUpperCase(), `${prefix}${route.path}`, (context) =>
      answer(services, context, api, (input) => route.handle(input)),
    );
}

async function answer(
  services: Services,
  context: Context,
  api: ClientApi,
  handle: (input: Omit<ClientInput, "caller">) => Promise<Response>,
): Promise<Response> {
  const request = context.req.raw;
  const startedAtMs = performance.now();
  try {
    const params = context.req.param();
    const query = context.req.query();
    requireReadable(query);
    const response = await handle({ services, request, startedAtMs, params, query });
    return request.method === "HEAD" ? await withoutBody(response) : response;
  } catch (error) {
    const appError = classifyError(error);
    logFailure(services, appError);
    const response = api.errorResponse(appError);
    // Some libraries send user and password of an address only after this.
    if (appError.code === "unauthorized") response.headers.set("www-authenticate", 'Basic realm="Atelier"');
    return response;
  }
}

/** Whether a browser sent the request without a word about the page that caused it, as to an address of a LAN over plain http. */
function isSilentBrowser({ headers }: Request): boolean {
  const isBrowser = /^mozilla\//i.test(headers.get("user-agent") ?? "");
  return isBrowser && !headers.has("origin") && !headers.has("sec-fetch-site");
}

const noKey = "Send an API key: docs/clients.md says how.";

/**
 * The owner of the API key of a request: `Authorization: Bearer <key>`, or Basic with the key as its password, which
 * programs send for an address like `https://key:<key>@studio.example.org`. Never a session. Throws `unauthorized`,
 * `rate_limited`, and `forbidden` for what may be a page of another site: browsers repeat a Basic password by themselves.
 */
async function requireKey(
  services: Services,
  request: Request,
  right = rightFor(request.method),
): Promise<Caller> {
  const authorization = request.headers.get("authorization") ?? "";
  const password = passwordOf(authorization);
  if (password !== null && (isCrossSite(services.env, request) || isSilentBrowser(request)))
    throw new AppError("forbidden", "The request may come from another site.");
  const caller = authorization && (await resolveCaller(services, keyHeadersOf(authorization)));
  if (!caller) throw new AppError("unauthorized", authorization === "" ? noKey : deadKey);
  requireRight(caller, right);
  return caller;
}

/** The key as it is resolved; a header that has none. */
function keyHeadersOf(authorization: string): Headers {
  const password = passwordOf(authorization);
  return new Headers({ authorization: password === null ? authorization : `Bearer ${password}` });
}

type Waiting = Pick<ClientInput, "services" | "request">;

/** For answers that take long: whether the key of the request is still one. */
export function isStillKey({ services, request }: Waiting): Promise<boolean> {
  return isStillCaller(services, keyHeadersOf(request.headers.get("authorization") ?? ""));
}

/** The same: true, or throws `unauthorized` once it is over. */
export async function requireStillKey(waiting: Waiting): Promise<boolean> {
  if (await isStillKey(waiting)) return true;
  throw new AppError("unauthorized", "The API key was revoked or is over.");
}

/** For the answer on its way. */
const answerMs = 2_000;

/** OpenAI's packages say how long they wait for an answer: without one they send the request again by themselves. */
export function untilRepeated({
  request,
  startedAtMs,
}: Pick<ClientInput, "request" | "startedAtMs">): number {
  const { headers } = request;
  const said = headers.get("x-stainless-timeout") ?? headers.get("x-stainless-read-timeout");
  const seconds = Number.parseFloat(said ?? "");
  if (!Number.isFinite(seconds)) return Infinity;
  return Math.max(0, Math.ceil(startedAtMs + seconds * 1_000 - answerMs - performance.now()));
}

/** The password of `Authorization: Basic`, or the user name where the password is empty; null for another scheme. */
function passwordOf(authorization: string): string | null {
  const [, encoded] = /^basic +([a-z0-9+/=_-]+)$/i.exec(authorization.trim()) ?? [];
  if (encoded === undefined) return null;
  const [user = "", ...rest] = Buffer.from(encoded, "base64").toString("utf8").split(":");
  const key = rest.join(":") || user;
  return /^[\x21-\x7e]+$/.test(key) ? key : "";
}

export const userNameSchema = lineOfText.min(1).max(100);

/**
 * The `userId` that a client sends. It becomes the first part of keys, so it has no slash: `a/b` with `c` would be the same
 * key as `a` with `b/c`. Throws `bad_request`.
 */
export function parseUserName(value: unknown): string {
  const name = userNameSchema.safeParse(typeof value === "number" ? String(value) : value);
  if (name.success && !name.data.includes("/")) return name.data;
  throw new AppError(
    "bad_request",
    "userId is required: at most 100 characters, without slashes and control characters.",
  );
}

/** An admin's key acts for the user of that name, any other key for its owner whatever the name. */
export async function actFor(services: Services, caller: Caller, userName: string): Promise<Caller> {
  refuseLack(caller);
  if (!caller.isAdmin) return caller;
  const { rights, keyId } = caller;
  // The key's rights and its cap hold for what it does for others.
  return {
    ...(await actAs(services, userName)),
    ...(rights ? { rights } : {}),
    ...(keyId ? { keyId } : {}),
  };
}
