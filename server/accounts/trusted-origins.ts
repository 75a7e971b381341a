import { isLoopback, namesLoopback, type Env } from "../platform/index.ts";

/**
 * The origins of a request: APP_URL, and the host of the request under either scheme, since a proxy may end TLS. Bound
 * to loopback only the names of this machine count; elsewhere the host counts only without APP_URL. X-Forwarded-Host
 * comes from a trusted proxy: scripts/web/front-door.ts removes any other.
 */
export function trustedOrigins(env: Pick<Env, "APP_URL" | "HOST">, request: Request): string[] {
  const direct = request.headers.get("host") ?? new URL(request.url).host;
  const host = request.headers.get("x-forwarded-host") ?? direct;
  const isFree = env.APP_URL === undefined && (!isLoopback(env.HOST) || host !== direct);
  const isLocal = isLoopback(env.HOST) && namesLoopback(host);
  const own = isFree || isLocal ? [`http://${host}`, `https://${host}`] : [];
  return env.APP_URL ? [new URL(env.APP_URL).origin, ...own] : own;
}
