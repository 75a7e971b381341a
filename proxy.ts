import { NextResponse, type NextRequest } from "next/server";
import { bucketOrigin, findSession, givesLinks, letsGuestsIn } from "./app/server/proxy-env.ts";

// oxlint-disable-next-line no-restricted-properties -- replaced by the bundler when it builds; nothing is read at run time
const isDevelopment = process.env.NODE_ENV === "development";

function contentSecurityPolicy(nonce: string): string {
  const origin = bucketOrigin();
  const bucket = origin === null ? "" : ` ${origin}`;
  return [
    "default-src 'self'",
    `script-src 'self' 'nonce-${nonce}' 'strict-dynamic'${isDevelopment ? " 'unsafe-eval'" : ""}`,
    // Style attributes carry sizes and positions; a nonce cannot allow them.
    "style-src 'self' 'unsafe-inline'",
    `img-src 'self' blob: data:${givesLinks() ? bucket : ""}`,
    "font-src 'self'",
    `connect-src 'self'${bucket}${isDevelopment ? " ws:" : ""}`,
    "worker-src 'self' blob:",
    "object-src 'none'",
    "base-uri 'self'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join("; ");
}

const openPages = new Set(["/sign-in", "/sign-in/new-password", "/metrics"]);

/** What browsers, crawlers and programs ask for by themselves. They would take a page to sign in for it. */
const files = /^\/\.well-known\/|\.\w+$/;

/** Where guests are not let in, a visitor without a session sees the pages to sign in alone. */
function mustSignIn({ cookies, nextUrl: { pathname } }: NextRequest): boolean {
  if (letsGuestsIn() || openPages.has(pathname) || files.test(pathname)) return false;
  return findSession(cookies.getAll()) === null;
}

/** The page that was asked for by a visitor who had to sign in first. */
const wantedCookie = "atelier-wanted";
const wantedOptions = { httpOnly: true, sameSite: "lax", maxAge: 900 } as const;

/** Leads to the sign-in, which ends at `/`: from there `wantedOf` leads on. */
function signInFirst({ method, nextUrl: { pathname, search }, url }: NextRequest): NextResponse {
  // Sent as a path: Next strips the origin of the request, which a proxy may have changed.
  const response = NextResponse.redirect(new URL("/sign-in", url));
  if (method === "GET" && pathname !== "/")
    response.cookies.set(wantedCookie, `${pathname}${search}`, wantedOptions);
  return response;
}

/** A page led its visitor to the sign-in whose session had ended, and what was shared with the studio waits on that page. */
function leavesShared({ headers, nextUrl: { pathname } }: NextRequest): boolean {
  return pathname === "/sign-in" && URL.parse(headers.get("referer") ?? "")?.pathname === "/shared";
}

/** Where a visitor goes on who has signed in; null for others, and for an address of another site. */
function wantedOf({ cookies, nextUrl, url }: NextRequest): URL | null {
  const path = cookies.get(wantedCookie)?.value;
  if (path === undefined || nextUrl.pathname !== "/" || findSession(cookies.getAll()) === null) return null;
  const wanted = URL.parse(path, url);
  if (wanted?.origin !== new URL(url).origin) return null;
  // Next sends the path alone: two slashes would name another site, and `/` leads here again.
  return wanted.pathname === "/" || wanted.pathname.startsWith("//") ? null : wanted;
}

/** Clients of the old job server post to the address of a page; their other paths have none. */
function isClientJob({ method, nextUrl }: NextRequest): boolean {
  return method === "POST" && nextUrl.pathname === "/jobs";
}

/** Gives each page a nonce of its own, which Next puts on its scripts. */
export function proxy(request: NextRequest): NextResponse {
  if (isClientJob(request)) return NextResponse.rewrite(new URL("/api/clients/jobs", request.url));
  if (mustSignIn(request)) return signInFirst(request);
  const wanted = wantedOf(request);
  if (wanted !== null) {
    const response = NextResponse.redirect(wanted);
    response.cookies.delete(wantedCookie);
    return response;
  }
  const policy = contentSecurityPolicy(btoa(crypto.randomUUID()));
  const headers = new Headers(request.headers);
  headers.set("Content-Security-Policy", policy);
  const response = NextResponse.next({ request: { headers } });
  response.headers.set("Content-Security-Policy", policy);
  if (leavesShared(request)) response.cookies.set(wantedCookie, "/shared", wantedOptions);
  return response;
}

export const config = {
  matcher: [
    {
      // The paths of `app/(clients)` and of what is shared are no pages, those of `app/l` need no session and have a policy of their own, and a body that passes here would be held in memory and cut.
      source:
        "/((?!api/|l/|_next/static|_next/image|samples/|icon.svg|manifest.webmanifest$|jobsRedis$|jobChangeOutfit$|jobResult$|upload$|shared/take$|images/|image/raw/|iopaint/|v1/|sdapi/|controlnet/|rembg$|mcp$|inpaint$|run_plugin$|server_config$|model$).*)",
      missing: [{ type: "header", key: "next-router-prefetch" }],
    },
  ],
};
