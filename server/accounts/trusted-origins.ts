import type { Env } from "../platform/index.ts";

/**
 * The origins of this very request: APP_URL and the host it was sent to, under either scheme, since a proxy may
 * end TLS. A page of another site can set neither Host nor X-Forwarded-Host.
 */
export function trustedOrigins(env: Pick<Env, "APP_URL">, request: Request): string[] {
  const { headers } = request;
  const hosts = [headers.get("host") ?? new URL(request.url).host, headers.get("x-forwarded-host")];
  const own = hosts.filter((host) => host !== null).flatMap((host) => [`http://${host}`, `https://${host}`]);
  return env.APP_URL ? [new URL(env.APP_URL).origin, ...own] : own;
}
