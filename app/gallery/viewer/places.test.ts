import { expect, test } from "vitest";
import { positionOf } from "./places.ts";

const taken = (...days: string[]) => days.map((day) => ({ createdAt: `${day}T12:00:00.000Z` }));
const months = [
  { month: "2026-11", pictures: 40 },
  { month: "2026-10", pictures: 300 },
  { month: "2025-02", pictures: 60 },
];
const ends = { isFromNewest: false, isToOldest: false, firstIndex: 0, months };

test("a list that is read as a whole counts itself", () => {
  const images = taken("2026-11-03", "2026-11-02");
  expect(positionOf(images, 1, undefined)).toEqual({ number: 2, count: 2 });
  expect(positionOf(images, 0, { ...ends, isFromNewest: true, isToOldest: true, months: null })).toEqual({
    number: 1,
    count: 2,
  });
});

test("of a part of the list the number and the count are those of the whole", () => {
  const newest = taken("2026-11-03", "2026-11-02");
  expect(positionOf(newest, 1, { ...ends, isFromNewest: true })).toEqual({ number: 2, count: 400 });
  const later = taken("2026-10-02", "2026-10-01", "2025-02-20", "2025-02-11");
  // Where a month begins is known, whatever the place of the part was taken for.
  expect(positionOf(later, 2, { ...ends, firstIndex: 250 })).toEqual({ number: 341, count: 400 });
  expect(positionOf(later, 0, { ...ends, firstIndex: 250 })).toEqual({ number: 339, count: 400 });
  expect(positionOf(later.slice(2), 1, { ...ends, firstIndex: 340 })).toEqual({ number: 342, count: 400 });
});

test("a picture that the months do not count yet has a number, too", () => {
  const images = taken("2026-11-03", "2026-11-02");
  const few = [{ month: "2026-11", pictures: 1 }];
  expect(positionOf(images, 1, { ...ends, isFromNewest: true, months: few })).toEqual({
    number: 2,
    count: 2,
  });
});

test("a picture beside the list, or one of a list that nobody counted, has no place", () => {
  const images = taken("2026-11-03");
  expect(positionOf(images, -1, ends)).toBeNull();
  expect(positionOf(images, 0, { ...ends, months: null })).toBeNull();
});
