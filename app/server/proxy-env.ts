import { readEarlierName, sessionCookieOf } from "@atelier/server/cookie-names";

/** Whether a visitor without an account may use the studio; SIGN_UP is checked when the studio starts. */
export function letsGuestsIn(): boolean {
  // Read without the services: proxy.ts calls this before each page, and must not need a database.
  // oxlint-disable-next-line no-restricted-properties
  return (process.env["SIGN_UP"]?.trim() || "open") === "open";
}

/** The studio's own origin, as `originOf` of the server has it. */
function ownOrigin(): string {
  // Read without the services, for the same reason.
  // oxlint-disable-next-line no-restricted-properties
  const set = (name: string) => process.env[name]?.trim() || null;
  return set("APP_URL") ?? `http://localhost:${set("PORT") ?? 3000}`;
}

/**
 * Whether a browser has a session cookie that may be this studio's; `isEarlier` under a name of another port, or of before the port was part of
 * it. Names alone are looked at: such a one may be another studio's.
 */
export function findSession(cookies: readonly { readonly name: string }[]): { isEarlier: boolean } | null {
  const origin = ownOrigin();
  if (cookies.some(({ name }) => name === sessionCookieOf(origin))) return { isEarlier: false };
  return cookies.some(({ name }) => readEarlierName(name, origin)?.isSession) ? { isEarlier: true } : null;
}

/** Whether pages get pictures from the bucket, too. */
export function givesLinks(): boolean {
  // Read without the services, for the same reason.
  // oxlint-disable-next-line no-restricted-properties
  return process.env["S3_DOWNLOADS"]?.trim() === "link";
}

/** Where pages send pictures to: the origin of the bucket; null when pictures are files of the studio. */
export function bucketOrigin(): string | null {
  // Read without the services, for the same reason.
  // oxlint-disable-next-line no-restricted-properties
  const set = (name: string) => process.env[name]?.trim() || null;
  const bucket = set("S3_BUCKET");
  if (bucket === null) return null;
  const endpoint =
    set("S3_PUBLIC_ENDPOINT") ?? set("S3_ENDPOINT") ?? amazonIn(set("S3_REGION") ?? "us-east-1");
  const { protocol, host } = new URL(endpoint);
  // As the environment reads it.
  const isBeforeHost = /^(0|false|no|off|n|disabled)$/i.test(set("S3_FORCE_PATH_STYLE") ?? "");
  return `${protocol}//${isBeforeHost ? `${bucket}.` : ""}${host}`;
}

const amazonIn = (region: string) =>
  `https://s3.${region}.amazonaws.com${region.startsWith("cn-") ? ".cn" : ""}`;

/** The nonce of the policy that `proxy.ts` gave a page. */
export const nonceOf = (policy: string | null): string | undefined =>
  /'nonce-([^']+)'/.exec(policy ?? "")?.[1];
