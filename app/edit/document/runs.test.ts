import { expect, test } from "vitest";
import type { Stroke } from "../mask/marks.ts";
import { hasUnusedMarks } from "./runs.ts";

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
