import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { fetchNow, studioNow, watchClock } from "./clock.ts";

const studioMs = Date.UTC(2026, 10, 29, 12, 0, 0);
const [secondMs, hourMs, dayMs] = [1_000, 3_600_000, 86_400_000];

interface Answered {
  /** How far the browser's clock is ahead of the studio's. */
  readonly aheadMs: number;
  readonly tookMs?: number;
  /** Of the studio's second, when it answers. */
  readonly passedMs?: number;
  readonly date?: string | null;
  /** The browser's clock is set to this while it waits. */
  readonly setMs?: number;
}

/** An answer of the studio to a browser; the time that this takes the browser for the studio's to be wrong by. */
async function answer({ aheadMs, tookMs = 40, passedMs = 500, date, setMs }: Answered): Promise<number> {
  const writtenMs = studioMs + passedMs;
  vi.setSystemTime(writtenMs + aheadMs - tookMs / 2);
  vi.stubGlobal("fetch", () => {
    vi.setSystemTime(setMs ?? writtenMs + aheadMs + tookMs / 2);
    const headers: Record<string, string> =
      date === null ? {} : { date: date ?? new Date(writtenMs).toUTCString() };
    return Promise.resolve(new Response("[]", { headers }));
  });
  await fetchNow("/api/trpc/jobs.list");
  return studioNow() - (writtenMs + tookMs / 2);
}

beforeEach(async () => {
  vi.useFakeTimers();
  // To within a millisecond, from both sides.
  for (const passedMs of [0, 999]) await answer({ aheadMs: 0, tookMs: 0, passedMs });
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test.each([-400 * dayMs, -2 * dayMs, -3 * hourMs, 2 * hourMs, dayMs, 30 * dayMs])(
  "a browser whose clock is wrong by %d ms goes by the studio's, within a second",
  async (aheadMs) => {
    expect(Math.abs(await answer({ aheadMs }))).toBeLessThan(secondMs);
    // The next answer of the same clock changes nothing.
    const before = studioNow() - Date.now();
    await answer({ aheadMs, tookMs: 900 });
    expect(studioNow() - Date.now()).toBe(before);
  },
);

test.each([
  { passedMs: 0, tookMs: 0 },
  { passedMs: 999, tookMs: 0 },
  { passedMs: 999, tookMs: 30_000 },
  { passedMs: 1, tookMs: 200 },
])("a browser whose clock is right stays with its own: %o", async (one) => {
  await answer({ aheadMs: 0, ...one });
  expect(Math.abs(studioNow() - Date.now())).toBeLessThanOrEqual(1);
});

test("a clock that is set right while the page is open is believed again", async () => {
  await answer({ aheadMs: 5 * hourMs });
  expect(Math.abs(await answer({ aheadMs: 0 }))).toBeLessThan(secondMs);
});

test.each([null, "", "soon", new Date(0).toUTCString()])(
  "an answer with the date %o tells no time",
  async (date) => {
    await answer({ aheadMs: dayMs, date });
    expect(Math.abs(studioNow() - Date.now())).toBeLessThanOrEqual(1);
  },
);

test("answers at different parts of a second find the time closer and closer", async () => {
  const offs: number[] = [];
  for (const passedMs of [300, 900, 50, 999, 500])
    offs.push(await answer({ aheadMs: dayMs + 400, passedMs, tookMs: 2 }));
  const sizes = offs.map(Math.abs);
  expect(sizes).toEqual(sizes.toSorted((a, b) => b - a));
  expect(sizes.at(-1)).toBeLessThan(60);
});

test("an answer that came while the clock was set back tells no time", async () => {
  await answer({ aheadMs: dayMs, setMs: studioMs });
  expect(Math.abs(studioNow() - Date.now())).toBeLessThanOrEqual(1);
});

test("who shows a time hears of the studio's clock at once, and after each interval until it stops", async () => {
  const seen: number[] = [];
  const stop = watchClock(() => seen.push(studioNow()), 30_000);
  const offMs = await answer({ aheadMs: -2 * dayMs });
  expect(seen).toHaveLength(1);
  expect(Math.abs(offMs)).toBeLessThan(secondMs);
  vi.advanceTimersByTime(60_000);
  expect(seen).toHaveLength(3);
  stop();
  vi.advanceTimersByTime(60_000);
  await answer({ aheadMs: 0 });
  expect(seen).toHaveLength(3);
});
