import { expect, test } from "vitest";
import { justify } from "./justify.ts";

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
