import { expect, test } from "vitest";
import { emptyHistory, hasPaint, stepHistory } from "./stroke-history.ts";
import type { Stroke } from "./stroke.ts";

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
