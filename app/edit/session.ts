"use client";
import { useCallback, useEffect, useReducer, useState } from "react";
import { isTyping } from "../frame/run-button.tsx";
import { type HistoryStep, type MarkHistory, stepHistory } from "./mask.ts";
import type { Click } from "./selection.ts";

export type Tool = "pan" | "brush" | "eraser" | "select";

export const brushLimits = { min: 4, max: 400 } as const;

export interface Brush {
  readonly tool: Tool;
  /** Diameter in px of the picture. */
  readonly sizePx: number;
}

function boundSize(sizePx: number): number {
  return Math.round(Math.min(brushLimits.max, Math.max(brushLimits.min, sizePx)));
}

/** What `useMarkHistory` gives: the marks of the version on the stage. */
interface Marks {
  readonly history: MarkHistory;
  readonly step: (step: HistoryStep) => void;
}

/** Marks that live as long as their component. */
export function useMarks(before: MarkHistory): Marks {
  const [history, step] = useReducer(stepHistory, before);
  return { history, step };
}

/** Tool and brush size of one editing session, and its marks. */
export function useEditor({ history, step }: Marks) {
  const [tool, setTool] = useState<Tool>("brush");
  const [sizePx, setSize] = useState(48);
  const [clickMode, setClickMode] = useState<Click["mode"]>("include");
  const growBrush = useCallback(() => setSize((size) => boundSize(size * 1.2 + 1)), []);
  const shrinkBrush = useCallback(() => setSize((size) => boundSize(size / 1.2 - 1)), []);
  return {
    brush: { tool, sizePx } satisfies Brush,
    setTool,
    setSize: (size: number) => setSize(boundSize(size)),
    growBrush,
    shrinkBrush,
    /** What a click does that is not made with Shift. */
    clickMode,
    setClickMode,
    history,
    step,
  };
}

export type EditorSession = ReturnType<typeof useEditor>;

/** Name of a key press: `b`, `Shift+z`, `Control+z`. Shift counts for letters only: some keyboards need Shift for brackets. */
function keyName(event: KeyboardEvent): string {
  const control = event.ctrlKey || event.metaKey ? "Control+" : "";
  const isLetter = /^[a-z]$/i.test(event.key);
  return `${control}${isLetter && event.shiftKey ? "Shift+" : ""}${event.key.toLowerCase()}`;
}

/** Shortcuts of the tools; the keys for zooming and painting are in `useStageKeys`. */
export function useEditKeys(
  { setTool, growBrush, shrinkBrush, step }: EditorSession,
  canSelect = false,
): void {
  useEffect(() => {
    const keys: Record<string, () => void> = {
      v: () => setTool("pan"),
      b: () => setTool("brush"),
      e: () => setTool("eraser"),
      ...(canSelect ? { s: () => setTool("select") } : {}),
      "[": shrinkBrush,
      "]": growBrush,
      z: () => step({ type: "undo" }),
      "Shift+z": () => step({ type: "redo" }),
      "Control+z": () => step({ type: "undo" }),
      "Control+Shift+z": () => step({ type: "redo" }),
      "Control+y": () => step({ type: "redo" }),
    };
    const press = (event: KeyboardEvent) => {
      if (isTyping(event)) return;
      const act = keys[keyName(event)];
      if (act === undefined) return;
      event.preventDefault();
      act();
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, [canSelect, growBrush, setTool, shrinkBrush, step]);
}
