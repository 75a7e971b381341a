import { expect, test } from "vitest";
import { fitView, toPicture, zoomView } from "./stage-input.ts";

const stage = { width: 800, height: 600 };

test("fitting shows the whole picture in the middle", () => {
  const view = fitView(stage, { width: 4000, height: 1000 });
  expect(view.scale).toBeCloseTo(752 / 4000);
  expect(view.x).toBeCloseTo(24);
  expect(view.y + (1000 * view.scale) / 2).toBeCloseTo(300);
});

test("what lies under the pointer stays there while zooming", () => {
  const view = fitView(stage, { width: 1000, height: 1000 });
  const at = { x: 500, y: 120 };
  const before = toPicture(view, at);
  const after = toPicture(zoomView(view, at, 3.7), at);
  expect(after.x).toBeCloseTo(before.x);
  expect(after.y).toBeCloseTo(before.y);
});

test("zoom ends at sixteen times", () => {
  expect(zoomView({ scale: 10, x: 0, y: 0 }, { x: 0, y: 0 }, 100).scale).toBe(16);
});
