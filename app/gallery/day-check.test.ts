import { expect, test } from "vitest";
import { readOfDay } from "./day-check.tsx";
import type { ListedImage } from "./stack.tsx";

// Safe cast: the day of a picture is all that is asked.
const taken = (...times: string[]) => times.map((time) => ({ createdAt: time }) as ListedImage);
const images = taken("2026-11-09T12:00", "2026-11-07T18:00", "2026-11-07T06:00", "2026-11-03T12:00");
const ends = { isFromNewest: false, isToOldest: false };

test("a day between two others is read as a whole", () => {
  expect(readOfDay("2026-11-07", { images, ...ends })).toEqual({ images: images.slice(1, 3), goesOn: false });
  expect(readOfDay("2026-11-05", { images, ...ends })).toEqual({ images: [], goesOn: false });
});

test("the days at the ends of what is read go on beyond it, unless the list ends there", () => {
  const goesOn = (day: string, more: Partial<typeof ends> = {}) =>
    readOfDay(day, { images, ...ends, ...more }).goesOn;
  expect([goesOn("2026-11-09"), goesOn("2026-11-03")]).toEqual([true, true]);
  expect([
    goesOn("2026-11-09", { isFromNewest: true }),
    goesOn("2026-11-03", { isFromNewest: true }),
  ]).toEqual([false, true]);
  expect(goesOn("2026-11-03", { isToOldest: true })).toBe(false);
});
