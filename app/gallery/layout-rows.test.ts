import { expect, test } from "vitest";
import { justify, lineAt, linesNear } from "./layout-rows.ts";

const options = { widthPx: 1000, targetHeightPx: 200, gapPx: 4 };
const picture = (widthPx: number, heightPx: number) => ({ widthPx, heightPx });

test("every full row fills the width exactly, gaps included", () => {
  const items = Array.from({ length: 40 }, (_, index) => picture(600 + 90 * (index % 7), 700));
  for (const row of justify(items, options).slice(0, -1)) {
    const width =
      row.widthsPx.reduce((sum, value) => sum + value, 0) + options.gapPx * (row.items.length - 1);
    expect(width).toBeCloseTo(options.widthPx, 6);
    expect(row.heightPx).toBeLessThanOrEqual(options.targetHeightPx);
  }
});

test("the last row keeps the target height instead of being blown up", () => {
  const [row] = justify([picture(300, 400)], options);
  expect(row?.heightPx).toBe(200);
  expect(row?.widthsPx).toEqual([150]);
});

test("a short last row is as high as the row before it", () => {
  const rows = justify(
    Array.from({ length: 7 }, () => picture(300, 300)),
    options,
  );
  expect(rows).toHaveLength(2);
  expect(rows[1]?.heightPx).toBe(rows[0]?.heightPx);
});

test("every picture is there once, in its order", () => {
  const items = Array.from({ length: 23 }, (_, index) => ({ ...picture(400, 300), index }));
  expect(justify(items, options).flatMap((row) => row.items.map(({ index }) => index))).toEqual(
    items.map(({ index }) => index),
  );
});

test("a panorama does not squeeze its row to a line", () => {
  const [row] = justify([picture(10_000, 100)], options);
  expect(row?.heightPx).toBe(200);
  expect(row?.widthsPx[0]).toBeCloseTo(520);
});

test("nothing gives no rows", () => {
  expect(justify([], options)).toEqual([]);
});

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
