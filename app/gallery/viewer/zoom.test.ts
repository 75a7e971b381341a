import { expect, test } from "vitest";
import { panView, zoomView } from "../../ui/zoom.ts";
import { boundView, closerScale, wholeView } from "./zoom.ts";

const room = { width: 800, height: 600 };
const large = { widthPx: 4_000, heightPx: 2_000 };
const small = { widthPx: 100, heightPx: 200 };
const range = { min: 0.1, max: 4 };

test("a picture is whole in the middle of its room, a small one a little larger than it is", () => {
  expect(wholeView(room, large)).toEqual({ scale: 0.2, x: 0, y: 100 });
  expect(wholeView(room, small)).toEqual({ scale: 1.5, x: 325, y: 150 });
});

test("a double click shows each px of a large picture, and more of one that is already shown so", () => {
  expect(closerScale(wholeView(room, large), 1)).toBe(1);
  // Of a screen with two px for one of CSS.
  expect(closerScale(wholeView(room, large), 0.5)).toBe(0.5);
  expect(closerScale(wholeView(room, small), 1)).toBe(3);
  const nearly = { widthPx: 840, heightPx: 630 };
  expect(closerScale(wholeView(room, nearly), 1)).toBeCloseTo((800 / 840) * 2);
});

test.each([
  ["beyond its left and upper edges", [5_000, 5_000], [0, 0]],
  ["beyond its right and lower edges", [-9_000, -9_000], [800 - 4_000, 600 - 2_000]],
  ["a little", [-100, -50], [-100, -50]],
] as const)("a part of a picture that is moved %s fills the room", (_where, [dx, dy], [x, y]) => {
  const moved = panView({ scale: 1, x: 0, y: 0 }, dx, dy);
  expect(boundView(moved, room, large)).toEqual({ scale: 1, x, y });
});

test("what is smaller than its room in one direction stays in the middle of it", () => {
  const close = zoomView(wholeView(room, large), { x: 0, y: 0 }, 1.25, range);
  expect(boundView(close, room, large)).toEqual({ scale: 0.25, x: 0, y: 50 });
  const tall = boundView({ scale: 4, x: 999, y: 7 }, room, small);
  expect(tall).toEqual({ scale: 4, x: 200, y: 0 });
});
