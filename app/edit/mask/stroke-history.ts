import type { Stroke } from "./stroke.ts";

export interface StrokeHistory {
  readonly strokes: readonly Stroke[];
  /** Taken back, the last one first in line to come again. */
  readonly undone: readonly Stroke[];
}

export type HistoryStep =
  | { readonly type: "add"; readonly stroke: Stroke }
  | { readonly type: "undo" | "redo" | "clear" };

export const emptyHistory: StrokeHistory = { strokes: [], undone: [] };

export function stepHistory(history: StrokeHistory, step: HistoryStep): StrokeHistory {
  switch (step.type) {
    case "add":
      return { strokes: [...history.strokes, step.stroke], undone: [] };
    case "undo": {
      const last = history.strokes.at(-1);
      if (last === undefined) return history;
      return { strokes: history.strokes.slice(0, -1), undone: [...history.undone, last] };
    }
    case "redo": {
      const next = history.undone.at(-1);
      if (next === undefined) return history;
      return { strokes: [...history.strokes, next], undone: history.undone.slice(0, -1) };
    }
    case "clear":
      return emptyHistory;
  }
}

/** Whether anything is marked; strokes that only erase mark nothing. */
export function hasPaint(history: StrokeHistory): boolean {
  return history.strokes.some((stroke) => stroke.mode === "paint");
}
