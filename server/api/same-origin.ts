import { trustedOrigins } from "../accounts/index.ts";
import { AppError, type Env } from "../platform/index.ts";

/** Whether a browser says that the request was caused by a page of another site. */
export function isCrossSite(env: Pick<Env, "APP_URL">, request: Request): boolean {
  const origin = request.headers.get("origin");
  if (origin) return !trustedOrigins(env, request).includes(origin);
  return ["cross-site", "same-site"].includes(request.headers.get("sec-fetch-site") ?? "");
}

/**
 * Refuses a write that a browser may have sent for another site; throws `forbidden`.
 * Browsers send Origin with every write, and Sec-Fetch-Site on secure addresses and localhost.
 */
export function assertSameOrigin(env: Pick<Env, "APP_URL">, request: Request): void {
  const origin = request.headers.get("origin");
  const isSame = origin
    ? trustedOrigins(env, request).includes(origin)
    : request.headers.get("sec-fetch-site") === "same-origin";
  if (!isSame) throw new AppError("forbidden", "The request comes from another site.");
}
