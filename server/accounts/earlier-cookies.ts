import { createHmac, timingSafeEqual } from "node:crypto";
import { cookieNameOf, cookiePrefixOf, readEarlierName, sessionCookieOf } from "../cookie-names.ts";
import { originOf } from "../platform/index.ts";
import type { Services } from "../services.ts";

type Studio = Pick<Services, "env">;

export const ownPrefix = (env: Services["env"]): string => cookiePrefixOf(originOf(env));

interface Session {
  readonly name: string;
  readonly prefix: string;
  /** As it was sent: `token.signature`, encoded. */
  readonly value: string;
}

/** By name, as sent; of two of one name the first counts, as with the library. */
function readCookies(headers: Headers): Map<string, string> {
  const cookies = new Map<string, string>();
  for (const pair of (headers.get("cookie") ?? "").split(/; */)) {
    const at = pair.indexOf("=");
    const name = pair.slice(0, Math.max(at, 0)).trim();
    if (name !== "" && !cookies.has(name)) cookies.set(name, pair.slice(at + 1).trim());
  }
  return cookies;
}

/** Whether this studio signed a cookie, as the library signs: HMAC-SHA256 of what is before the last dot, in base64. */
function isSigned({ env }: Studio, sent: string): boolean {
  const value = decoded(sent);
  const at = value.lastIndexOf(".");
  if (at < 1 || !env.AUTH_SECRET) return false;
  const own = createHmac("sha256", env.AUTH_SECRET).update(value.slice(0, at)).digest();
  const given = Buffer.from(value.slice(at + 1), "base64");
  return given.length === own.length && timingSafeEqual(given, own);
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}

/** The session cookies of earlier names that this studio signed. No query: whether they are of a session that goes on is not known. */
function readEarlierSessions(studio: Studio, cookies: ReadonlyMap<string, string>): Session[] {
  const origin = originOf(studio.env);
  return [...cookies].flatMap(([name, value]) => {
    const earlier = readEarlierName(name, origin);
    return earlier?.isSession && isSigned(studio, value) ? { name, prefix: earlier.prefix, value } : [];
  });
}

/**
 * The headers of a request with the cookies of an earlier prefix under today's names, too, where these are not there. Of other prefixes those
 * that this studio signed, as its trust in the browser, but no session.
 */
function underOwnNames(studio: Studio, headers: Headers, prefix: string | null): Headers {
  const origin = originOf(studio.env);
  const cookies = readCookies(headers);
  const sent = [...cookies].flatMap(([name, value]) => {
    const earlier = readEarlierName(name, origin);
    return earlier === null ? [] : [{ ...earlier, value }];
  });
  const chosen = sent.filter((one) => one.prefix === prefix);
  const signed = sent.filter(({ isSession, value }) => !isSession && isSigned(studio, value));
  const before = cookies.size;
  for (const { rest, value } of [...chosen, ...signed]) {
    const name = cookieNameOf(origin, rest);
    if (!cookies.has(name)) cookies.set(name, value);
  }
  if (cookies.size === before) return headers;
  const renamed = new Headers(headers);
  renamed.set("cookie", [...cookies].map(([name, value]) => `${name}=${value}`).join("; "));
  return renamed;
}

/** Those of one value are one session. */
const distinct = (sessions: readonly Session[]) => [
  ...new Map(sessions.toReversed().map((session) => [session.value, session])).values(),
];

/**
 * The headers with which a request may be of a session, to be asked for one after the other: its own, and without a session cookie of
 * today's name those of each earlier one that this studio signed.
 */
export function underEachName(studio: Studio, headers: Headers): readonly Headers[] {
  const cookies = readCookies(headers);
  if (cookies.has(sessionCookieOf(originOf(studio.env)))) return [headers];
  const earlier = distinct(readEarlierSessions(studio, cookies));
  return earlier.length === 0
    ? [headers]
    : earlier.map(({ prefix }) => underOwnNames(studio, headers, prefix));
}

/** What is needed of the library. */
interface SessionLibrary {
  readonly handler: (request: Request) => Promise<Response>;
  readonly api: {
    readonly getSession: (asked: {
      headers: Headers;
      query: { disableCookieCache: true; disableRefresh: true };
    }) => Promise<unknown>;
  };
  readonly $context: Promise<{ readonly sessionConfig: { readonly expiresIn: number } }>;
}

/**
 * The library, which takes cookies of earlier names too. A session of this studio under an earlier name gets today's name with the first
 * answer, and keeps the earlier one for a version of before that runs beside this or again. Where the session ends or another one begins, the
 * earlier ones go: they must not sign anybody in again. Those of another studio at this host are left alone.
 */
export function readEarlier<Library extends SessionLibrary>(studio: Studio, library: Library): Library {
  const name = sessionCookieOf(originOf(studio.env));
  const attributes = `Path=/; HttpOnly; SameSite=Lax${name.startsWith("__Secure-") ? "; Secure" : ""}`;
  const isLiving = async ({ value }: Session) => {
    const headers = new Headers({ cookie: `${name}=${value}` });
    const query = { disableCookieCache: true, disableRefresh: true } as const;
    return (await library.api.getSession({ headers, query })) !== null;
  };
  /** The earlier cookies to take away once a session has ended or another one begins; `used` is what the library saw. */
  const findOver = async (earlier: readonly Session[], used: string | null, isAsked: boolean) => {
    const over: string[] = [];
    for (const one of earlier)
      // Who only asks for a session that is over keeps another one, which a version of before began.
      if (one.value === used || (!isAsked && (await isLiving(one)))) over.push(one.name);
    return over;
  };
  const handler = async (request: Request): Promise<Response> => {
    const cookies = readCookies(request.headers);
    const earlier = readEarlierSessions(studio, cookies);
    const own = cookies.get(name) ?? null;
    const taken = own === null ? await findFirst(distinct(earlier), isLiving) : null;
    const headers = underOwnNames(studio, request.headers, taken?.prefix ?? null);
    const response = await library.handler(await withHeaders(request, headers));
    const set = setValueOf(response, name);
    if (set === null) return taken === null ? response : withCookies(response, [await renewed(taken)]);
    const others = earlier.filter(({ value }) => value !== set);
    const isAsked = new URL(request.url).pathname.endsWith("/get-session");
    const over = await findOver(others, own ?? taken?.value ?? null, isAsked);
    return withCookies(
      response,
      over.map((one) => `${one}=; Max-Age=0; ${attributes}`),
    );
  };
  const renewed = async ({ value }: Session) => {
    const { expiresIn } = (await library.$context).sessionConfig;
    return `${name}=${value}; Max-Age=${expiresIn}; ${attributes}`;
  };
  return { ...library, handler };
}

function withCookies(response: Response, lines: readonly string[]): Response {
  if (lines.length === 0) return response;
  const answer = new Response(response.body, response);
  for (const line of lines) answer.headers.append("set-cookie", line);
  return answer;
}

async function findFirst(
  sessions: readonly Session[],
  isLiving: (session: Session) => Promise<boolean>,
): Promise<Session | null> {
  for (const session of sessions) if (await isLiving(session)) return session;
  return null;
}

async function withHeaders(request: Request, headers: Headers): Promise<Request> {
  if (headers === request.headers) return request;
  const { url, method, signal } = request;
  const body = request.body === null ? null : await request.arrayBuffer();
  return new Request(url, { method, headers, signal, body });
}

/** What an answer sets a cookie to, empty where it takes it away; null where it leaves it. */
function setValueOf(response: Response, name: string): string | null {
  const line = response.headers.getSetCookie().findLast((one) => one.startsWith(`${name}=`));
  return line?.slice(name.length + 1).split(";")[0] ?? null;
}
