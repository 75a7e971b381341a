import type { Answer } from "./answer.ts";
import { empty, proxyPage, serverTrouble, text } from "./answer.ts";
import { TooLarge, type Call } from "./call.ts";
import { isForeignOrigin } from "./check-origin.ts";
import { routes, simRoutes } from "./routes.ts";

/** Finds the route of a call and answers it. */
export async function answerCall(call: Call): Promise<Answer> {
  if (isForeignOrigin(call.headers)) return empty(403);
  const known = call.path.startsWith("/sim/") ? simRoutes : routes;
  for (const { method, pattern, handle, mode } of known) {
    const match = method === call.method ? pattern.exec(call.path) : null;
    if (!match || (mode && mode !== call.comfy.options.mode)) continue;
    return handleSafely(() => handle({ ...call, params: match.slice(1).map(decodeURIComponent) }));
  }
  // The catch-all of the static files answers GET with 404 and every other method with 405.
  return call.method === "GET" ? text(404, "404: Not Found") : text(405, "405: Method Not Allowed");
}

async function handleSafely(handle: () => Promise<Answer> | Answer): Promise<Answer> {
  try {
    return await handle();
  } catch (error) {
    return error instanceof TooLarge ? proxyPage(413) : serverTrouble;
  }
}

/** The path without a prefix; null when it is not below the base path. */
export function innerPath(pathname: string, basePath: string): string | null {
  if (basePath !== "" && !pathname.startsWith(`${basePath}/`)) return null;
  const inner = pathname.slice(basePath.length);
  return inner.startsWith("/api/") ? inner.slice("/api".length) : inner;
}
