/** Cookies know no ports: studios at one host name keep apart by the names of their cookies. Loaded by `proxy.ts`, so it imports nothing. */

/** What cookies of accounts began with before the port was part of it, and do at the usual port of a scheme. */
const plainPrefix = "atelier";
const sessionRest = "session_token";

/** What the cookies of accounts begin with, by the studio's own origin: `atelier`, or `atelier-8443` at a port of its own. */
export function cookiePrefixOf(origin: string): string {
  const { port } = new URL(origin);
  return port === "" ? plainPrefix : `${plainPrefix}-${port}`;
}

/** Browsers send such cookies over https alone. */
const schemePrefixOf = (origin: string) => (new URL(origin).protocol === "https:" ? "__Secure-" : "");

/** The name of today of a cookie of accounts, by what follows the prefix. */
export const cookieNameOf = (origin: string, rest: string): string =>
  `${schemePrefixOf(origin)}${cookiePrefixOf(origin)}.${rest}`;

export const sessionCookieOf = (origin: string): string => cookieNameOf(origin, sessionRest);

interface EarlierName {
  /** `atelier`, or `atelier-4940`. */
  readonly prefix: string;
  /** As `trust_device`. */
  readonly rest: string;
  readonly isSession: boolean;
}

/**
 * A name that a cookie of accounts has at another port of the host, or had before the port was part of it; null for any other name, and for
 * one of the other scheme. It may be this studio's, of before its port changed, or another studio's: the name does not tell.
 */
export function readEarlierName(name: string, origin: string): EarlierName | null {
  const [, scheme = "", prefix = "", rest = ""] = /^(__Secure-)?(atelier(?:-\d+)?)\.(.+)$/.exec(name) ?? [];
  if (rest === "" || scheme !== schemePrefixOf(origin) || prefix === cookiePrefixOf(origin)) return null;
  return { prefix, rest, isSession: rest === sessionRest };
}
