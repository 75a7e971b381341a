import { takeWritePermit, trustedOrigins, type Caller } from "../accounts/index.ts";
import { AppError, type Env } from "../platform/index.ts";
import type { Services } from "../services/index.ts";

/** Whether a browser says that the request was caused by a page of another site. */
export function isCrossSite(env: Pick<Env, "APP_URL" | "HOST">, request: Request): boolean {
  const origin = request.headers.get("origin");
  if (origin) return !trustedOrigins(env, request).includes(origin);
  return ["cross-site", "same-site"].includes(request.headers.get("sec-fetch-site") ?? "");
}

/**
 * Refuses a write that a browser may have sent for another site; throws `forbidden`.
 * Browsers send Origin with every write, and Sec-Fetch-Site on secure addresses and localhost.
 */
function assertSameOrigin(env: Pick<Env, "APP_URL" | "HOST">, request: Request): void {
  const origin = request.headers.get("origin");
  const isSame = origin
    ? trustedOrigins(env, request).includes(origin)
    : request.headers.get("sec-fetch-site") === "same-origin";
  if (!isSame) throw new AppError("forbidden", "The request comes from another site.");
}

/**
 * Admits a write that rests on a cookie, or on nothing: it must come from a page of the studio and be within the user's
 * limit. A request with an API key has passed its own limit. Throws `forbidden` or `rate_limited`.
 */
export async function admitWrite(services: Services, request: Request, caller: Caller | null): Promise<void> {
  if (caller?.via === "api_key") return;
  assertSameOrigin(services.env, request);
  if (caller && !(await takeWritePermit(services, caller.userId))) throw new AppError("rate_limited");
}
