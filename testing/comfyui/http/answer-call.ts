import type { Answer } from "./answer.ts";
import { bodyTooLarge, empty, serverTrouble, text, unknownPath } from "./answer.ts";
import { TooLarge, type Call } from "./call.ts";
import { isForeignOrigin } from "./check-origin.ts";
import { routes, simRoutes, type Route } from "./routes.ts";

/** Finds the route of a call and answers it. */
export async function answerCall(call: Call): Promise<Answer> {
  if (isForeignOrigin(call.headers)) return empty(403);
  if (call.method === "OPTIONS") return empty(200);
  const method = call.method === "HEAD" ? "GET" : call.method;
  const known = (call.path.startsWith("/sim/") ? simRoutes : routes).filter((route) => isThere(call, route));
  const found = known.find((route) => route.method === method);
  // The catch-all of the static files answers GET with 404 and every other method with 405.
  if (!found && call.method === "HEAD") return empty(404);
  if (!found) return method === "GET" ? unknownPath : notAllowed(known);
  const params = (found.pattern.exec(call.path) ?? []).slice(1).map(decodeURIComponent);
  return handleSafely(() => found.handle({ ...call, params }));
}

function isThere({ comfy, path, isBelowApi }: Call, { pattern, mode, isApiOnly }: Route): boolean {
  if (mode && mode !== comfy.options.mode) return false;
  return pattern.test(path) && (isBelowApi || !isApiOnly);
}

function notAllowed(known: readonly Route[]): Answer {
  const methods = new Set(["GET", "HEAD", ...known.map(({ method }) => method)]);
  const answer = text(405, "405: Method Not Allowed");
  return { ...answer, headers: { ...answer.headers, allow: [...methods].toSorted().join(",") } };
}

async function handleSafely(handle: () => Promise<Answer> | Answer): Promise<Answer> {
  try {
    return await handle();
  } catch (error) {
    return error instanceof TooLarge ? bodyTooLarge : serverTrouble;
  }
}

/** The path without a prefix; null when it is not below the base path. */
export function innerPath(pathname: string, basePath: string): string | null {
  if (basePath !== "" && !pathname.startsWith(`${basePath}/`)) return null;
  const inner = pathname.slice(basePath.length);
  return inner.startsWith("/api/") ? inner.slice("/api".length) : inner;
}
