/** Cookies know no ports: studios at one host name keep apart by the names of their cookies. Loaded by `proxy.ts`, so it imports nothing. */

/** What cookies of accounts began with before the port was part of it, and do at the usual port of a scheme. */
const plainPrefix = "atelier";

/** What the cookies of accounts begin with, by the studio's own origin: `atelier`, or `atelier-8443` at a port of its own. */
export function cookiePrefixOf(origin: string): string {
  const { port } = new URL(origin);
  return port === "" ? plainPrefix : `${plainPrefix}-${port}`;
}

/** The name of the session cookie, which browsers send over https alone when the studio is there. */
export const sessionCookieOf = (origin: string): string =>
  `${new URL(origin).protocol === "https:" ? "__Secure-" : ""}${cookiePrefixOf(origin)}.session_token`;

/** The name that the session cookie had before the port was part of it; the same as now at the usual port. */
export const earlierSessionCookieOf = (origin: string): string =>
  sessionCookieOf(origin).replace(cookiePrefixOf(origin), plainPrefix);

const nameOf = (pair: string) => pair.slice(0, pair.indexOf("="));

/**
 * A `Cookie` header in which cookies of the names before stand under those of today, where these are not there. What another studio
 * of this host signed is then as good as none: it is checked like any cookie.
 */
export function withOwnNames(cookie: string, origin: string): string {
  const prefix = cookiePrefixOf(origin);
  if (prefix === plainPrefix || !cookie.includes(`${plainPrefix}.`)) return cookie;
  const pairs = cookie.split(/; */);
  const names = new Set(pairs.map(nameOf));
  const own = pairs.flatMap((pair) => {
    const renamed = pair.replace(/^(__Secure-)?atelier\./, `$1${prefix}.`);
    return renamed !== pair && names.has(nameOf(renamed)) ? [] : renamed;
  });
  return own.join("; ");
}
