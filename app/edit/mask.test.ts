import { expect, test } from "vitest";
import { emptyHistory, hasPaint, stepHistory } from "./mask.ts";
import type { Stroke } from "./mask/stroke.ts";

const stroke = (sizePx: number, mode: Stroke["mode"] = "paint"): Stroke => ({
  mode,
  sizePx,
  points: [{ x: 1, y: 1 }],
});

test("undo takes strokes back in order and redo brings them again", () => {
  let history = stepHistory(emptyHistory, { type: "add", stroke: stroke(1) });
  history = stepHistory(history, { type: "add", stroke: stroke(2) });
  history = stepHistory(stepHistory(history, { type: "undo" }), { type: "undo" });
  expect(history.strokes).toEqual([]);
  history = stepHistory(history, { type: "redo" });
  expect(history.strokes.map(({ sizePx }) => sizePx)).toEqual([1]);
});

test("a new stroke ends what could be redone", () => {
  let history = stepHistory(emptyHistory, { type: "add", stroke: stroke(1) });
  history = stepHistory(stepHistory(history, { type: "undo" }), { type: "add", stroke: stroke(3) });
  expect(stepHistory(history, { type: "redo" })).toBe(history);
});

test("erasing alone marks nothing", () => {
  expect(hasPaint(stepHistory(emptyHistory, { type: "add", stroke: stroke(4, "erase") }))).toBe(false);
});

const line = (mode: Stroke["mode"], sizePx: number, ...points: Stroke["points"]): Stroke => ({
  mode,
  sizePx,
  points,
});
const from = { x: 10, y: 10 };
const to = { x: 200, y: 80 };

test("paint that was erased in full marks nothing, and marks again once it is painted over", () => {
  const painted = line("paint", 20, from, to);
  const erased = [painted, line("erase", 20, to, from)];
  expect(hasPaint({ strokes: erased })).toBe(false);
  expect(hasPaint({ strokes: [painted, line("erase", 400, { x: 100, y: 50 })] })).toBe(false);
  expect(hasPaint({ strokes: [...erased, painted] })).toBe(true);
});

test("paint that was erased in part, beside or before it was made still marks", () => {
  const painted = line("paint", 20, from, to);
  const half = { x: 105, y: 45 };
  expect(hasPaint({ strokes: [painted, line("erase", 20, from, half)] })).toBe(true);
  expect(hasPaint({ strokes: [painted, line("erase", 12, from, to)] })).toBe(true);
  expect(hasPaint({ strokes: [painted, line("erase", 60, { x: 300, y: 300 })] })).toBe(true);
  expect(hasPaint({ strokes: [line("erase", 400, half), painted] })).toBe(true);
});
