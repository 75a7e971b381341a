"use client";
import { useSearchParams } from "next/navigation";
import { useCallback, useEffect, useReducer, useRef, useState } from "react";
import type { JobView } from "@atelier/server/jobs";
import { useRemixJob } from "../client/remix.ts";
import { isTyping } from "../frame/run-button.tsx";
import { useJob } from "../live/hooks.tsx";
import { emptyHistory, stepHistory, type Mark, type MarkHistory } from "./mask.ts";
import type { Click } from "./selection.ts";

/** Whether there are marks that the job did not use (`spent`). To show another version would delete them. */
export function hasUnusedMarks(marks: readonly Mark[], spent: readonly Mark[]): boolean {
  return marks.some((stroke) => !spent.includes(stroke));
}

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

/** Tool, brush size and marks of one editing session; `before` holds the initial marks. */
export function useEditor(before: MarkHistory = emptyHistory) {
  const [tool, setTool] = useState<Tool>("brush");
  const [sizePx, setSize] = useState(48);
  const [clickMode, setClickMode] = useState<Click["mode"]>("include");
  const [history, step] = useReducer(stepHistory, before);
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

export interface EditStart {
  /** React key of the forms: another source job mounts new forms. */
  readonly key: string;
  /** Prompt of "Replace with prompt". */
  readonly repaint: string;
  /** Factor of the upscale. */
  readonly scale: 2 | 4;
  readonly change: { readonly prompt: string; readonly referenceId: string | null };
}

const nothing: EditStart = {
  key: "new",
  scale: 2,
  repaint: "",
  change: { prompt: "", referenceId: null },
};

function startOf({
  id,
  kind,
  params,
  inputs,
}: Pick<JobView, "id" | "kind" | "params" | "inputs">): EditStart {
  const prompt = typeof params.prompt === "string" ? params.prompt : "";
  const reference = inputs.find(({ role }) => role === "reference")?.imageId ?? null;
  return {
    key: id,
    scale: kind === "upscale" && params.scale === 4 ? 4 : 2,
    repaint: kind === "inpaint" ? prompt : "",
    change: { prompt: kind === "edit" ? prompt : "", referenceId: reference },
  };
}

/** Start values of the editor's forms, from the job of the picture in the URL (`?remix=<image id>`). */
export function useEditRemix(): EditStart {
  const imageId = useSearchParams().get("remix");
  const { job } = useRemixJob(imageId);
  return job === undefined ? nothing : startOf(job);
}

interface Run {
  readonly jobId: string;
  /** The marks of the job's mask. */
  readonly spent: readonly Mark[];
}

const noMarks: readonly Mark[] = [];

/** The job of this session. Its result becomes the shown version, unless unused marks would be cleared. */
export function useEditRun({ add, show }: VersionHistory, marks: readonly Mark[]) {
  const [run, setRun] = useState<Run | null>(null);
  const jobId = run?.jobId ?? null;
  const { job } = useJob(jobId);
  const resultId = job?.status === "completed" ? job.outputs[0]?.imageId : undefined;
  const takenJobId = useRef<string | null>(null);
  useEffect(() => {
    if (run === null || resultId === undefined || takenJobId.current === run.jobId) return;
    takenJobId.current = run.jobId;
    if (hasUnusedMarks(marks, run.spent)) add(resultId);
    else show(resultId);
  }, [add, resultId, run, show, marks]);

  const start = useCallback((id: string, spent = noMarks) => setRun({ jobId: id, spent }), []);
  /** For a retry, which uses the marks of the first job. */
  const startAgain = useCallback(
    (id: string) => setRun((before) => ({ jobId: id, spent: before?.spent ?? noMarks })),
    [],
  );
  return { jobId, start, startAgain };
}

export type EditRun = ReturnType<typeof useEditRun>;

interface Versions {
  readonly ids: readonly string[];
  readonly currentId: string;
  /** Left version of the comparison; null while none is shown. */
  readonly baseId: string | null;
}

function withId(ids: readonly string[], id: string): readonly string[] {
  return ids.includes(id) ? ids : [...ids, id];
}

/** The picture and its edited versions in this session, oldest first. */
export function useVersions(firstId: string) {
  const [versions, setVersions] = useState<Versions>({ ids: [firstId], currentId: firstId, baseId: null });
  const add = useCallback((id: string) => setVersions((now) => ({ ...now, ids: withId(now.ids, id) })), []);
  /** Shows a version; adds it first when it is new. */
  const show = useCallback(
    (id: string) => setVersions(({ ids }) => ({ ids: withId(ids, id), currentId: id, baseId: null })),
    [],
  );
  /** Shows a version; while comparing, it becomes the left version. */
  const choose = useCallback(
    (id: string) =>
      setVersions((now) => {
        if (now.baseId === null) return { ...now, currentId: id };
        return id === now.currentId ? now : { ...now, baseId: id };
      }),
    [],
  );
  const toggleCompare = useCallback(
    () =>
      setVersions((now) => {
        if (now.baseId !== null) return { ...now, baseId: null };
        const at = now.ids.indexOf(now.currentId);
        return { ...now, baseId: now.ids[at - 1] ?? now.ids[at + 1] ?? null };
      }),
    [],
  );
  return { ...versions, add, show, choose, toggleCompare };
}

export type VersionHistory = ReturnType<typeof useVersions>;
