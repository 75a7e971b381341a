import { expect, test } from "vitest";
import { panView, zoomView } from "../ui/zoom.ts";
import { columnsFor, paneOf, whole } from "./geometry.ts";

const box = { width: 600, height: 600 };
const large = { widthPx: 4_000, heightPx: 3_000 };
const small = { widthPx: 400, heightPx: 300 };
const tall = { widthPx: 300, heightPx: 900 };

test("pictures of one shape are shown alike, whatever their sizes", () => {
  const [one, other] = [paneOf(box, large), paneOf(box, small)];
  expect(one.shown(whole)).toEqual({ scale: 0.15, x: 0, y: 75 });
  expect(other.shown(whole)).toEqual({ scale: 1.5, x: 0, y: 75 });
  const closer = one.change(whole, (from) => zoomView(from, { x: 150, y: 300 }, 4, one.range));
  const [near, nearOther] = [one.shown(closer), other.shown(closer)];
  expect(near).toEqual({ scale: 0.6, x: -450, y: expect.closeTo(-600) });
  // The same corner at the same place, at ten times the scale.
  expect(nearOther).toEqual({ scale: 6, x: expect.closeTo(near.x), y: expect.closeTo(near.y) });
});

test("a point that is zoomed at stays where it is", () => {
  const { change, shown, range } = paneOf(box, large);
  const at = { x: 450, y: 200 };
  const partAt = ({ scale, x, y }: ReturnType<typeof shown>) => [(at.x - x) / scale, (at.y - y) / scale];
  const once = change(whole, (from) => zoomView(from, at, 3, range));
  const twice = change(once, (from) => zoomView(from, at, 2, range));
  const [before, after] = [partAt(shown(once)), partAt(shown(twice))];
  expect(after[0]).toBeCloseTo(before[0] ?? 0, 5);
  expect(after[1]).toBeCloseTo(before[1] ?? 0, 5);
});

test("what is moved by a picture with nothing beyond one direction stays there for the others", () => {
  const [wide, narrow] = [paneOf(box, large), paneOf(box, tall)];
  const closer = wide.change(whole, (from) => zoomView(from, { x: 0, y: 300 }, 2, wide.range));
  expect(closer.centreX).toBeCloseTo(0.25);
  const moved = narrow.change(closer, (from) => panView(from, 0, -100));
  expect(moved.centreX).toBe(closer.centreX);
  expect(moved.centreY).toBeGreaterThan(closer.centreY);
  // In its own pane it stays in the middle.
  const { scale, x } = narrow.shown(moved);
  expect(x * 2 + tall.widthPx * scale).toBeCloseTo(box.width);
});

test("a picture is never smaller than whole, and nothing of it is moved beyond its pane", () => {
  const { change, range, shown } = paneOf(box, large);
  expect(change(whole, (from) => zoomView(from, { x: 1, y: 1 }, 0.2, range))).toEqual(whole);
  const closer = change(whole, (from) => zoomView(from, { x: 300, y: 300 }, 3, range));
  expect(shown(change(closer, (from) => panView(from, 9_999, -9_999)))).toEqual({
    scale: expect.closeTo(0.45),
    x: expect.closeTo(0),
    y: expect.closeTo(600 - 1_350),
  });
});

test.each([
  ["two landscapes on a wide screen beside each other", { width: 1_200, height: 600 }, [large, large], 2],
  ["two landscapes on a phone one above the other", { width: 374, height: 420 }, [large, large], 1],
  ["two tall ones on a phone beside each other", { width: 374, height: 420 }, [tall, tall], 2],
  ["three tall ones in one row", { width: 1_200, height: 600 }, [tall, tall, tall], 3],
  ["four of one shape in two rows of two", { width: 1_200, height: 800 }, [large, small, large, small], 2],
  ["four of several shapes in full rows", { width: 1_200, height: 640 }, [tall, large, small, small], 2],
  ["three on a phone one above the other", { width: 374, height: 500 }, [large, large, large], 1],
  ["one", { width: 300, height: 300 }, [large], 1],
])("%s", (_what, room, pictures, columns) => {
  expect(columnsFor(room, pictures)).toBe(columns);
});

test("before the page is laid out there is a number of columns", () => {
  expect(columnsFor({ width: 0, height: 0 }, [large, tall, small])).toBe(3);
});
