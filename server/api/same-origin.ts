import { trustedOrigins } from "../accounts/index.ts";
import { AppError, type Env } from "../platform/index.ts";

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
