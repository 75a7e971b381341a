import { expect, test } from "vitest";
import {
  firstIndexOf,
  indexAt,
  indexOfPlace,
  isJumpRead,
  jumpTo,
  layOutMonths,
  placeOfIndex,
  sideOfView,
  topOf,
} from "./timeline.ts";

const measures = { widthPx: 1_200, targetHeightPx: 236, gapPx: 4, proportion: 1.2 };
const counts = [
  { month: "2026-11", pictures: 40 },
  { month: "2026-09", pictures: 7_000 },
  { month: "2025-01", pictures: 1 },
];
const timeline = layOutMonths(counts, measures);

test("each picture has a place, later ones further down, and the place leads back to it", () => {
  expect(timeline.pictures).toBe(7_041);
  const indexes = [0, 39, 40, 41, 3_000, 7_039, 7_040];
  const tops = indexes.map((index) => topOf(timeline, index));
  expect(tops).toEqual(tops.toSorted((a, b) => a - b));
  expect(tops.map((topPx) => indexAt(timeline, topPx + 1))).toEqual(indexes);
  expect(topOf(timeline, 7_041)).toBe(timeline.heightPx);
});

test("a large month is as high as its rows, and a small one has a heading for each picture at most", () => {
  const [, large, small] = timeline.months;
  // 5 in a row of 228 px, and 30 headings with a row that is half full.
  expect(large?.heightPx).toBeGreaterThan((7_000 / 5) * 190);
  expect(large?.heightPx).toBeLessThan((7_000 / 5) * 240 + 30 * 240);
  expect(small?.heightPx).toBeLessThan(320);
});

test("a place in a month is the number of a picture", () => {
  expect(placeOfIndex(timeline, 3_540)).toEqual({ month: 1, share: 0.5 });
  expect(indexOfPlace(timeline, { month: 1, share: 0.5 })).toBe(3_540);
  expect(indexOfPlace(timeline, { month: 2, share: 1 })).toBe(7_040);
});

test("a part of the list finds its number by the first picture of a month", () => {
  const images = ["2026-09-03", "2026-09-02", "2025-01-09"].map((day) => ({ createdAt: `${day}T00:00:00Z` }));
  expect(firstIndexOf(images, timeline.months, 5)).toBe(7_038);
  expect(firstIndexOf(images.slice(0, 2), timeline.months, 5)).toBe(5);
});

test("a jump reads the local days of a month from their beginning, and skips what is newer further down", () => {
  expect(jumpTo(timeline, 0)).toBeNull();
  expect(jumpTo(timeline, 45)).toEqual({
    from: new Date(2026, 8, 1).toISOString(),
    before: new Date(2026, 9, 1).toISOString(),
    skip: 0,
    index: 40,
  });
  expect(jumpTo(timeline, 3_540)).toMatchObject({
    before: "2026-10-01T00:00:00.000Z",
    skip: 3_500,
    index: 3_540,
  });
});

test("a view beside all that is read is away, but not where the list ends", () => {
  const span = { readTopPx: 1_000, readEndPx: 4_000, isFromNewest: false, isToOldest: false };
  expect(sideOfView(span, 4_000, 4_800)).toBe("older");
  expect(sideOfView(span, 3_999, 4_799)).toBeNull();
  expect(sideOfView(span, 200, 1_000)).toBe("newer");
  expect(sideOfView(span, 201, 1_001)).toBeNull();
  expect(sideOfView({ ...span, isToOldest: true }, 4_500, 5_300)).toBeNull();
  expect(sideOfView({ ...span, isFromNewest: true }, 0, 800)).toBeNull();
});

test("a jump whose first page is kept is not made again", () => {
  const [beginning, further] = [jumpTo(timeline, 45), jumpTo(timeline, 3_540)];
  const pages = [{ jump: jumpTo(timeline, 69) ?? undefined }, { jump: undefined }];
  expect(isJumpRead(beginning, { isFromNewest: false, pages })).toBe(true);
  expect(isJumpRead(further, { isFromNewest: false, pages })).toBe(false);
  expect(isJumpRead(null, { isFromNewest: false, pages })).toBe(false);
  expect(isJumpRead(null, { isFromNewest: true, pages: [] })).toBe(true);
});
