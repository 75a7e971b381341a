import { expect, test } from "vitest";
import { hasUnspentMarks } from "./session.ts";
import type { Stroke } from "./mask.ts";

const first: Stroke = { mode: "paint", sizePx: 10, points: [{ x: 1, y: 1 }] };
const second: Stroke = { mode: "paint", sizePx: 10, points: [{ x: 2, y: 2 }] };

test("marks that a job was given are spent, also when some were taken back since", () => {
  expect(hasUnspentMarks([], [])).toBe(false);
  expect(hasUnspentMarks([first, second], [first, second])).toBe(false);
  expect(hasUnspentMarks([first], [first, second])).toBe(false);
});

test("marks made since a job began are not spent", () => {
  expect(hasUnspentMarks([first], [])).toBe(true);
  expect(hasUnspentMarks([first, second], [first])).toBe(true);
});
