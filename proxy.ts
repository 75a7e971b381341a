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

/** Where guests are not let in, a visitor without a session sees the pages to sign in alone. */
function mustSignIn({ cookies, nextUrl }: NextRequest): boolean {
  if (letsGuestsIn() || openPages.has(nextUrl.pathname)) return false;
  return findSession(cookies.getAll()) === null;
}

/** Clients of the old job server post to the address of a page; their other paths have none. */
function isClientJob({ method, nextUrl }: NextRequest): boolean {
  return method === "POST" && nextUrl.pathname === "/jobs";
}

/** Gives each page a nonce of its own, which Next puts on its scripts. */
export function proxy(request: NextRequest): NextResponse {
  if (isClientJob(request)) return NextResponse.rewrite(new URL("/api/clients/jobs", request.url));
  // Sent as a path: Next strips the origin of the request, which a proxy may have changed.
  if (mustSignIn(request)) return NextResponse.redirect(new URL("/sign-in", request.url));
  const policy = contentSecurityPolicy(btoa(crypto.randomUUID()));
  const headers = new Headers(request.headers);
  headers.set("Content-Security-Policy", policy);
  const response = NextResponse.next({ request: { headers } });
  response.headers.set("Content-Security-Policy", policy);
  return response;
}

export const config = {
  matcher: [
    {
      // The paths of `app/(clients)` are no pages, those of `app/l` need no session and have a policy of their own, and a body that passes here would be held in memory and cut.
      source:
        "/((?!api/|l/|_next/static|_next/image|samples/|icon.svg|jobsRedis$|jobChangeOutfit$|jobResult$|upload$|images/|image/raw/|iopaint/|v1/|sdapi/|rembg$|mcp$|inpaint$|run_plugin$|server_config$|model$).*)",
      missing: [{ type: "header", key: "next-router-prefetch" }],
    },
  ],
};
