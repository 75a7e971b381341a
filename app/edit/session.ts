"use client";
import { useCallback, useEffect, useRef, useState } from "react";
import { useJob } from "../live/use-job.ts";
import { hasUnspentMarks } from "./mask/has-unspent-marks.ts";
import type { Stroke } from "./mask/stroke.ts";
import type { VersionHistory } from "./use-versions.ts";

interface Run {
  readonly jobId: string;
  /** The marks that went with it. */
  readonly spent: readonly Stroke[];
}

const noStrokes: readonly Stroke[] = [];

/** The job of this session; its result comes in front, unless that would take marks away that nobody used yet. */
export function useEditRun({ add, show }: VersionHistory, strokes: readonly Stroke[]) {
  const [run, setRun] = useState<Run | null>(null);
  const jobId = run?.jobId ?? null;
  const { job } = useJob(jobId);
  const resultId = job?.status === "completed" ? job.outputs[0]?.imageId : undefined;
  const takenJobId = useRef<string | null>(null);
  useEffect(() => {
    if (run === null || resultId === undefined || takenJobId.current === run.jobId) return;
    takenJobId.current = run.jobId;
    if (hasUnspentMarks(strokes, run.spent)) add(resultId);
    else show(resultId);
  }, [add, resultId, run, show, strokes]);

  const start = useCallback((id: string, spent = noStrokes) => setRun({ jobId: id, spent }), []);
  /** A retry works with what the first try was given. */
  const startAgain = useCallback(
    (id: string) => setRun((before) => ({ jobId: id, spent: before?.spent ?? noStrokes })),
    [],
  );
  return { jobId, start, startAgain };
}

export type EditRun = ReturnType<typeof useEditRun>;
