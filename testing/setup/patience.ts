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
