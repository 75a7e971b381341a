"use client";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { JobView } from "@atelier/server/jobs";
import { useJob } from "../../live/hooks.tsx";
import { hasEnded } from "../../live/store.ts";
import { expansionOf } from "../expand/frame.ts";
import type { Mark } from "../mask/marks.ts";
import { readSettings } from "../modes/mode-settings.ts";
import { changeRun, marksOf, type OpenEdit, type Run, withRun, withVersion } from "./state.ts";
import type { EditStore } from "./store.ts";

/** The most results of one click. */
export const mostCandidates = 4;

/** Whether there are marks that the job did not use (`spent`). To show another version would take them off the stage. */
export function hasUnusedMarks(marks: readonly Mark[], spent: readonly Mark[]): boolean {
  return marks.some((mark) => !spent.includes(mark));
}

/** A result of a run, or what stands for it. */
export interface Candidate {
  readonly jobId: string;
  readonly job: JobView | undefined;
  /** Null while there is none; a job that failed never has one. */
  readonly imageId: string | null;
  /** The job ended without a picture, or was removed. */
  readonly isGone: boolean;
}

function toCandidate(jobId: string, { job, isMissing }: ReturnType<typeof useJob>): Candidate {
  const imageId = job?.status === "completed" ? (job.outputs[0]?.imageId ?? null) : null;
  const isOver = isMissing || (job !== undefined && hasEnded(job));
  return { jobId, job, imageId, isGone: isOver && imageId === null };
}

/** Of the modes whose settings are about the version on the stage, as they are now: to show another version takes them off. */
export const ofVersion = ({ adjust, crop, expand }: OpenEdit["settings"]) =>
  JSON.stringify([adjust, crop, expansionOf(readSettings("expand", expand))]);

const isComing = ({ imageId, isGone }: Candidate) => imageId === null && !isGone;

/** The jobs of a run; as many hooks as a run has at the most. */
function useCandidates(run: Run | null): readonly Candidate[] {
  const [first, second, third, fourth] = run?.jobIds ?? [];
  const jobs = [useJob(first ?? null), useJob(second ?? null), useJob(third ?? null), useJob(fourth ?? null)];
  return (run?.jobIds ?? []).slice(0, mostCandidates).flatMap((id, at) => {
    const found = jobs[at];
    return found === undefined ? [] : [toCandidate(id, found)];
  });
}

/** The run that is not settled yet; a result of a run of one job is taken at once. */
export function useRuns(store: EditStore, edit: OpenEdit) {
  // A settled run whose candidates are looked at again.
  const [reopened, setReopened] = useState<string | null>(null);
  const open = edit.runs.findLast(({ isSettled }) => !isSettled) ?? null;
  const run = open ?? edit.runs.find(({ jobIds }) => jobIds[0] === reopened) ?? null;
  const candidates = useCandidates(run);
  const spent = useRef(new Map<string, readonly Mark[]>());
  const settingsAt = useRef(new Map<string, string>());
  const { currentId } = edit;
  const marksNow = marksOf(edit, currentId);
  const settingsNow = ofVersion(edit.settings);

  /** For a click on what makes something of this version; takes the jobs, and the version's marks that they were given. */
  const startOn = useCallback(
    (parentId: string) => {
      const settings = ofVersion(store.read().edit.settings);
      return (jobIds: readonly string[], used: readonly Mark[] = []) => {
        const [first] = jobIds;
        if (first === undefined) return;
        spent.current.set(first, used);
        settingsAt.current.set(first, settings);
        setReopened(null);
        store.update((now) => {
          const settled = { ...now, runs: now.runs.map((one) => ({ ...one, isSettled: true })) };
          return withRun(settled, {
            jobIds,
            parentId,
            spentMarks: used.length,
            seenIds: [],
            keptIds: [],
            acceptedId: null,
            isSettled: false,
          });
        });
      };
    },
    [store],
  );
  /** For a retry, which uses the marks of the first job. */
  const startAgain = useCallback(
    (id: string) =>
      store.update((now) => {
        const last = now.runs.findLast(({ isSettled }) => !isSettled);
        if (last?.jobIds.length !== 1) return now;
        const [first = ""] = last.jobIds;
        spent.current.set(id, spent.current.get(first) ?? []);
        settingsAt.current.set(id, settingsAt.current.get(first) ?? ofVersion(now.settings));
        return changeRun(now, last, { jobIds: [id] });
      }),
    [store],
  );
  const accept = useCallback(
    (taken: Run, imageId: string, isShown = true) =>
      store.update((now) => {
        const added = withVersion(now, { imageId, parentId: taken.parentId });
        const settled = changeRun(added, taken, { acceptedId: imageId, isSettled: true });
        return isShown ? { ...settled, currentId: imageId } : settled;
      }),
    [store],
  );

  const single = open?.jobIds.length === 1 ? open : null;
  const result = candidates[0]?.imageId ?? null;
  useEffect(() => {
    if (single === null || result === null) return;
    const [first = ""] = single.jobIds;
    const used = spent.current.get(first) ?? marksNow.slice(0, single.spentMarks);
    const isUntouched = settingsNow === (settingsAt.current.get(first) ?? settingsNow);
    const isOnStage = currentId === single.parentId;
    accept(single, result, isOnStage && isUntouched && !hasUnusedMarks(marksNow, used));
  }, [accept, currentId, marksNow, result, settingsNow, single]);

  const kept = Number(edit.settings["candidates"] ?? 1);
  const count = Math.min(mostCandidates, Math.max(1, Math.round(kept) || 1));
  const onCount = useCallback(
    (wanted: number) =>
      store.update((now) => ({ ...now, settings: { ...now.settings, candidates: wanted } })),
    [store],
  );
  const isBusy = open !== null && candidates.some(isComing);
  const strip = single === null ? run : null;
  return useMemo(
    () => ({
      /** The job of a run of one; null while none is on its way. */
      jobId: single?.jobIds[0] ?? null,
      isBusy,
      /** The run whose candidates are shown over the picture. */
      strip,
      candidates,
      /** How many results a click makes, where they differ. */
      choice: { count, onCount },
      startOn,
      startAgain,
      accept,
      reopen: setReopened,
    }),
    [accept, candidates, count, isBusy, onCount, single, startOn, startAgain, strip],
  );
}

export type Runs = ReturnType<typeof useRuns>;
