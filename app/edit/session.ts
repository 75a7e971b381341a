"use client";
import { useCallback, useMemo, useReducer, useState } from "react";
import { type HistoryStep, type Mark, type MarkHistory, stepHistory } from "./mask/marks.ts";
import type { Effect, Size } from "./mask/raster.ts";
import type { Click } from "./mask/selection.ts";
import { type Actions, useCommands } from "./tools/own-keys.ts";

export type ToolId = "pan" | "brush" | "eraser" | "lasso" | "shape" | "select";

export const brushLimits = { min: 4, max: 400 } as const;

/** What tools are set to; kept from one tool to the next. */
export interface ToolOptions {
  /** Diameter in px of the picture. */
  readonly sizePx: number;
  /** From 0, soft, to 1, a sharp edge. */
  readonly hardness: number;
  /** The pressure of a pen steers the size. */
  readonly usesPressure: boolean;
  readonly shape: "rectangle" | "ellipse";
  /** What an area does that is drawn without Shift and Ctrl. */
  readonly effect: Effect;
  /** What a click does that is not made with Shift. */
  /** `box`: the first click is a corner, the next one the opposite. */
  readonly clickMode: Click["mode"] | "box";
  /** By how much the mask is grown, shrunk or feathered. */
  readonly edgePx: number;
}

const firstOptions: ToolOptions = {
  sizePx: 48,
  hardness: 1,
  usesPressure: true,
  shape: "rectangle",
  effect: "add",
  clickMode: "include",
  edgePx: 8,
};

const bound = (value: number, { min, max }: { readonly min: number; readonly max: number }) =>
  Math.min(max, Math.max(min, value));

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

/** The tool of one editing session with its options, and its marks. */
export function useEditor({ history, step }: Marks) {
  const [tool, setTool] = useState<ToolId>("brush");
  const [options, setOptions] = useState(firstOptions);
  const change = useCallback(
    (next: Partial<ToolOptions> | ((before: ToolOptions) => Partial<ToolOptions>)) =>
      setOptions((before) => {
        const after = { ...before, ...(typeof next === "function" ? next(before) : next) };
        const sizePx = Math.round(bound(after.sizePx, brushLimits));
        return { ...after, sizePx, hardness: bound(after.hardness, { min: 0, max: 1 }) };
      }),
    [],
  );
  return useMemo(
    () => ({ tool, setTool, options, change, history, step }),
    [change, history, options, step, tool],
  );
}

export type EditorSession = ReturnType<typeof useEditor>;

const hardnessStep = 0.1;

/** Whether `all` or `none` would change nothing. */
export function isLast(marks: readonly Mark[], mode: "all" | "none"): boolean {
  const last = marks.at(-1);
  return mode === "none" ? last === undefined || last.mode === "none" : last?.mode === mode;
}

/** Shortcuts of tools, brush and mask; the keys for zooming and painting are in `useStageKeys`. */
export function useEditKeys({ setTool, change, step, history }: EditorSession, more: Actions = {}): void {
  const add = (mark: Mark) => step({ type: "add", mark });
  const whole = (mode: "all" | "none") => {
    if (!isLast(history.marks, mode)) add({ mode });
  };
  useCommands({
    pan: () => setTool("pan"),
    brush: () => setTool("brush"),
    eraser: () => setTool("eraser"),
    lasso: () => setTool("lasso"),
    shape: () => setTool("shape"),
    swap: () => setTool((tool) => (tool === "brush" ? "eraser" : "brush")),
    smaller: () => change(({ sizePx }) => ({ sizePx: sizePx / 1.2 - 1 })),
    larger: () => change(({ sizePx }) => ({ sizePx: sizePx * 1.2 + 1 })),
    softer: () => change(({ hardness }) => ({ hardness: hardness - hardnessStep })),
    harder: () => change(({ hardness }) => ({ hardness: hardness + hardnessStep })),
    invert: () => add({ mode: "invert" }),
    all: () => whole("all"),
    none: () => whole("none"),
    undo: () => step({ type: "undo" }),
    redo: () => step({ type: "redo" }),
    ...more,
  });
}

/** The size of the picture, for its mask. */
export const sizeOf = ({ widthPx, heightPx }: Size): Size => ({ widthPx, heightPx });
