"use client";
import { useReducer, useState } from "react";
import { emptyHistory, stepHistory, type StrokeHistory } from "./mask.ts";

export type Tool = "pan" | "brush" | "eraser";

export const brushLimits = { min: 4, max: 400 } as const;

export interface Brush {
  readonly tool: Tool;
  /** Diameter in CSS px of the screen at 100 %, in px of the picture. */
  readonly sizePx: number;
}

function boundSize(sizePx: number): number {
  return Math.round(Math.min(brushLimits.max, Math.max(brushLimits.min, sizePx)));
}

/** Tool, size and strokes of one session at the picture, from where an earlier one ended. */
export function useEditor(before: StrokeHistory = emptyHistory) {
  const [tool, setTool] = useState<Tool>("brush");
  const [sizePx, setSize] = useState(48);
  const [history, step] = useReducer(stepHistory, before);
  return {
    brush: { tool, sizePx } satisfies Brush,
    setTool,
    setSize: (size: number) => setSize(boundSize(size)),
    growBrush: () => setSize((size) => boundSize(size * 1.2 + 1)),
    shrinkBrush: () => setSize((size) => boundSize(size / 1.2 - 1)),
    history,
    step,
  };
}

export type EditorSession = ReturnType<typeof useEditor>;
