import { expect, test, vi } from "vitest";
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
