import { expect, test } from "vitest";
import type { Stroke } from "../mask/marks.ts";
import { hasUnusedMarks, ofVersion } from "./runs.ts";

const first: Stroke = { mode: "paint", sizePx: 10, points: [{ x: 1, y: 1 }] };
const second: Stroke = { mode: "paint", sizePx: 10, points: [{ x: 2, y: 2 }] };

test("marks that a job was given are spent, also when some were taken back since", () => {
  expect(hasUnusedMarks([], [])).toBe(false);
  expect(hasUnusedMarks([first, second], [first, second])).toBe(false);
  expect(hasUnusedMarks([first], [first, second])).toBe(false);
});

test("marks made since a job began are not spent", () => {
  expect(hasUnusedMarks([first], [])).toBe(true);
  expect(hasUnusedMarks([first, second], [first])).toBe(true);
});

test("a result is shown although the next run was given another prompt or seed meanwhile, but not over a frame that was moved", () => {
  const expand = { left: 64, prompt: "sky", seed: 4 };
  const before = ofVersion({ expand });
  expect(ofVersion({ expand: { ...expand, prompt: "sea", seed: null, models: { expand: "fill" } } })).toBe(
    before,
  );
  expect(ofVersion({ expand: { ...expand, left: 65 } })).not.toBe(before);
  expect(ofVersion({ expand, crop: { turns: 1 } })).not.toBe(before);
});
