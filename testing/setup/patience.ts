import { subscribe } from "node:diagnostics_channel";
import type { Server } from "node:http";
import { vi } from "vitest";

/**
 * How long a condition may take to hold, in ms, at least: each wait ends as soon as it does, and a loaded machine is no
 * fault. Vitest's own second is short beside a build. `expect.poll` has the same from vitest.config.ts.
 */
const patienceMs = 60_000;

const { waitFor, waitUntil } = vi;

function withPatience<Options extends { timeout?: number }>(options: number | Options | undefined) {
  if (typeof options !== "object") return Math.max(patienceMs, options ?? 0);
  return { ...options, timeout: Math.max(patienceMs, options.timeout ?? 0) };
}

vi.waitFor = (callback, options) => waitFor(callback, withPatience(options));
vi.waitUntil = (callback, options) => waitUntil(callback, withPatience(options));

/** Node's own. */
const usualIdleMs = 5_000;

/**
 * How long a server of a test's process keeps a connection that is not used. Its clients are in the same process, which may stand
 * still: with the usual limit a connection would be closed just when the next request is sent on it.
 */
const idleMs = 600_000;

subscribe("http.server.request.start", (message) => {
  // Safe: the channel is documented with the server of the request.
  const { server } = message as { server: Server };
  if (server.keepAliveTimeout === usualIdleMs) server.keepAliveTimeout = idleMs;
});
