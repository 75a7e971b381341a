import { authOf, mailAddress, servedAuthPaths } from "../accounts/index.ts";
import { probeDatabase } from "../db/index.ts";
import { AppError, parseForeignJson, isFault, ruleOf } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { answerMethod } from "./methods.ts";
import { classifyError, isCrossSite, readLimited, withRequestId } from "./requests.ts";

/** Far above any form of the accounts. */
const maxAuthBytes = 16_384;

function refuse({ log }: Services, { code, message, cause }: AppError): Response {
  const level = isFault(code) ? "error" : "info";
  log[level]({ code, err: cause, part: "accounts" }, "auth request refused");
  return Response.json({ code, message }, { status: ruleOf(code).httpStatus });
}

/** The library answers some failed queries by a bare 500 and hides the cause: probe the database to find out. */
async function explain({ db }: Services): Promise<AppError> {
  try {
    await probeDatabase(db);
    return new AppError("internal");
  } catch (error) {
    return classifyError(error);
  }
}

/** The same request with a body of known size, since the library reads bodies of any size. Throws `request_too_large`. */
async function withBoundedBody(request: Request): Promise<Request> {
  const { url, method, headers, signal } = request;
  if (!request.body) return request;
  const body = await readLimited(request, maxAuthBytes);
  if (!body) throw new AppError("request_too_large");
  return new Request(url, { method, headers, body: withMailAddress(body), signal });
}

/** Forms may name an account by an address whose domain is in other letters; the library refuses those. */
function withMailAddress(body: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> | string {
  const form = parseForeignJson(new TextDecoder().decode(body));
  const email: unknown = Object(form).email;
  return typeof email === "string" ? JSON.stringify({ ...Object(form), email: mailAddress(email) }) : body;
}

/** Answers a request below /api/auth. Errors have the shape that the auth client reads: `{ code, message }`. */
export function handleAuth(services: Services, request: Request): Promise<Response> {
  return withRequestId(request, () => answer(services, request));
}

async function answer(services: Services, request: Request): Promise<Response> {
  const path = new URL(request.url).pathname.replace(/^\/api\/auth(?=\/)/, "");
  const methods = servedAuthPaths.get(path.replace(/^\/callback\/[^/]+$/, "/callback/:id"));
  if (methods && !methods.includes(request.method)) return answerMethod(request, methods);
  // The library checks some of its writes only when a cookie came along; a visit to another site must not make guests.
  if (request.method !== "GET" && isCrossSite(services.env, request))
    return refuse(services, new AppError("forbidden", "The request comes from another site."));
  try {
    const response = await authOf(services).handler(await withBoundedBody(request));
    return response.status === 500 ? refuse(services, await explain(services)) : response;
  } catch (error) {
    return refuse(services, classifyError(error));
  }
}
