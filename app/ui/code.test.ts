import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type * as Code from "./code.ts";
import { failureOf } from "./failures.ts";

let code: typeof Code;
let ready: number | null;
const browser = new EventTarget();
beforeEach(async () => {
  vi.useFakeTimers();
  vi.resetModules();
  vi.stubGlobal("window", browser);
  vi.stubGlobal("fetch", () =>
    ready === null ? Promise.reject(new TypeError()) : Promise.resolve(new Response(null, { status: ready })),
  );
  code = await import("./code.ts");
});
afterEach(() => vi.unstubAllGlobals());

test.each([
  ["does not answer", null, "offline", false],
  ["is without its database", 503, "offline", false],
  ["answers, and lacks the code", 200, "outdated", true],
])("code that does not load from a studio that %s", async (_, status, expected, isOutdated) => {
  ready = status;
  const error = await code
    .loadCode(() => Promise.reject(new Error("404")))
    .catch((thrown: unknown) => thrown);
  expect([failureOf(error).code, code.outdated.get()]).toEqual([expected, isOutdated]);
});

test("a studio that was away for a moment has the code, and the page is none of an older version", async () => {
  ready = 200;
  const load = vi
    .fn<() => Promise<string>>()
    .mockRejectedValueOnce(new Error("502"))
    .mockResolvedValue("code");
  expect([await code.loadCode(load), code.outdated.get()]).toEqual(["code", false]);
});

test("what failed is tried again with pauses that grow to 30 s, at once when the network is back, and while it is wanted", async () => {
  let [tries, isWanted] = [0, true];
  const attempt = async () => {
    tries += 1;
    return false;
  };
  const ended = code.tryAgain(attempt, () => isWanted);
  const triesAfter = async (ms: number) => {
    await vi.advanceTimersByTimeAsync(ms);
    return tries;
  };
  expect([await triesAfter(1_999), await triesAfter(1), await triesAfter(4_000)]).toEqual([0, 1, 2]);
  expect([await triesAfter(8_000 + 16_000 + 30_000), await triesAfter(60_000)]).toEqual([5, 7]);
  browser.dispatchEvent(new Event("online"));
  expect(await triesAfter(0)).toBe(8);
  isWanted = false;
  await vi.advanceTimersByTimeAsync(30_000);
  await ended;
  expect(tries).toBe(8);
});
