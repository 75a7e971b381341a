import { cookiePrefixOf, earlierSessionCookieOf, sessionCookieOf, withOwnNames } from "../cookie-names.ts";
import { originOf } from "../platform/index.ts";
import type { Services } from "../services.ts";

type Studio = Pick<Services, "env">;

export const ownPrefix = (env: Services["env"]): string => cookiePrefixOf(originOf(env));

/** The headers of a request, whose cookies may still have the names of before the port was part of them. */
export function underOwnNames({ env }: Studio, headers: Headers): Headers {
  const cookie = headers.get("cookie");
  const own = cookie === null ? null : withOwnNames(cookie, originOf(env));
  if (own === null || own === cookie) return headers;
  const renamed = new Headers(headers);
  renamed.set("cookie", own);
  return renamed;
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
 * The library, which takes cookies of earlier names too. A session of this studio under the earlier name gets today's name with the first
 * answer, and the earlier one goes: it must not sign anybody in again after a sign-out. That of another studio at this host is left alone.
 */
export function readEarlier<Library extends SessionLibrary>({ env }: Studio, library: Library): Library {
  const origin = originOf(env);
  const [name, earlier] = [sessionCookieOf(origin), earlierSessionCookieOf(origin)];
  if (name === earlier) return library;
  const handler = async (request: Request): Promise<Response> => {
    const value = valueOf(request.headers, earlier);
    const headers = underOwnNames({ env }, request.headers);
    if (headers === request.headers) return library.handler(request);
    const isOwn = value !== null && (await isSession(library, `${name}=${value}`));
    const { url, method, signal } = request;
    const body = request.body === null ? null : await request.arrayBuffer();
    const response = await library.handler(new Request(url, { method, headers, signal, body }));
    if (!isOwn) return response;
    const answer = new Response(response.body, response);
    const attributes = `Path=/; HttpOnly; SameSite=Lax${name.startsWith("__Secure-") ? "; Secure" : ""}`;
    answer.headers.append("set-cookie", `${earlier}=; Max-Age=0; ${attributes}`);
    const { expiresIn } = (await library.$context).sessionConfig;
    const isSet = answer.headers.getSetCookie().some((line) => line.startsWith(`${name}=`));
    if (!isSet && valueOf(request.headers, name) === null)
      answer.headers.append("set-cookie", `${name}=${value}; Max-Age=${expiresIn}; ${attributes}`);
    return answer;
  };
  return { ...library, handler };
}

function valueOf(headers: Headers, name: string): string | null {
  const pairs = (headers.get("cookie") ?? "").split(/; */);
  return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1) ?? null;
}

/** Whether a cookie is signed by this studio and of a session that goes on. */
async function isSession({ api }: SessionLibrary, cookie: string): Promise<boolean> {
  const headers = new Headers({ cookie });
  return (
    (await api.getSession({ headers, query: { disableCookieCache: true, disableRefresh: true } })) !== null
  );
}
