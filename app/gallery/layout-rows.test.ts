import { expect, test, vi } from "vitest";
import { fetchNow } from "../client/clock.ts";
import { lineAt, linesNear, today } from "./layout-rows.ts";

test("the line at a height is the last that begins there or above", () => {
  const tops = [0, 40, 280, 520];
  expect([-100, 0, 39, 40, 519, 520, 9_000].map((topPx) => lineAt(tops, topPx))).toEqual([
    0, 0, 0, 1, 2, 3, 3,
  ]);
  expect(lineAt([], 0)).toBe(-1);
});

test("lines in view are there with six above and below, and no others", () => {
  const tops = Array.from({ length: 100 }, (_, index) => index * 100);
  expect(linesNear(tops, 2_000, 2_899)).toEqual({ first: 14, end: 35 });
  expect(linesNear(tops, -300, 599)).toEqual({ first: 0, end: 12 });
  expect(linesNear(tops, 9_500, 10_400)).toEqual({ first: 89, end: 100 });
  expect(linesNear([], 0, 900)).toEqual({ first: 0, end: 0 });
});

test("a page that is open over midnight is told of the new day, once it is there", () => {
  vi.useFakeTimers({ now: new Date(2026, 11, 31, 23, 58, 30) });
  const days: string[] = [];
  const stop = today.watch(() => days.push(today.get()));
  vi.advanceTimersByTime(120_000);
  expect(days).toEqual(["2026-12-31", "2027-01-01"]);
  stop();
  vi.advanceTimersByTime(120_000);
  expect(days).toHaveLength(2);
});

test("today is a day of the studio's clock, at once when an answer tells that the browser's is wrong", async () => {
  const noon = new Date(2026, 10, 29, 12);
  vi.useFakeTimers({ now: new Date(2026, 11, 3, 12) });
  const days: string[] = [];
  const stop = today.watch(() => days.push(today.get()));
  expect(today.get()).toBe("2026-12-03");
  vi.stubGlobal("fetch", () => Promise.resolve(new Response("", { headers: { date: noon.toUTCString() } })));
  await fetchNow("/api/trpc/images.list");
  expect(days).toEqual(["2026-11-29"]);
  stop();
  vi.unstubAllGlobals();
});
