import { expect, test } from "vitest";
import { picturesIn } from "./rectangle.tsx";
import type { SheetLine } from "./layout-rows.ts";
import type { ListedImage } from "./stack.tsx";

// Safe cast: only the id is read.
const image = (id: string) => ({ id }) as ListedImage;
const row = (at: number, ...ids: string[]): SheetLine => ({
  type: "row",
  key: String(ids[0]),
  at,
  items: ids.map(image),
  heightPx: 100,
  widthsPx: ids.map(() => 200),
});
const lines = [{ type: "day", day: "2026-11-27", heightPx: 52 } as const, row(0, "a", "b"), row(2, "c", "d")];
const layout = { lines, tops: [0, 56, 160], gapPx: 4 };
const inBox = (left: number, top: number, right: number, bottom: number) =>
  picturesIn({ left, top, right, bottom }, layout).map(({ id }) => id);

test("a rectangle selects what it touches, whether it is in the document or not", () => {
  expect(inBox(300, 60, 900, 90)).toEqual(["b"]);
  expect(inBox(-50, 150, 10, 170)).toEqual(["a", "c"]);
  expect(inBox(-50, 10, 900, 900)).toEqual(["a", "b", "c", "d"]);
});

test("a rectangle over a heading, between rows or beside them selects nothing", () => {
  expect(inBox(0, 0, 900, 50)).toEqual([]);
  expect(inBox(0, 157, 900, 159)).toEqual([]);
  expect(inBox(201, 60, 203, 250)).toEqual([]);
  expect(inBox(405, 60, 900, 250)).toEqual([]);
});
