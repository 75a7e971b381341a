"use client";
import { useQueryClient } from "@tanstack/react-query";
import { RotateCcw, RotateCw } from "lucide-react";
import { useTranslations } from "next-intl";
import { useCallback, useEffect, useRef, useState } from "react";
import type { JobView } from "@atelier/server/jobs";
import { api } from "../client/api.ts";
import { keys, useCapabilities, useCapability } from "../client/queries.ts";
import { freeOnly } from "../client/submit/agreement.ts";
import { createBatchSubmission, submitBatch } from "../client/submit/batch.ts";
import { createJobSubmission, submitAgreed } from "../client/submit/job.ts";
import { hasEnded, live } from "../live/store.ts";
import { MenuItem } from "../ui/overlays.tsx";
import { useFailureToast } from "../ui/failures.ts";
import { toastFailure, toastWithUndo } from "../ui/toasts.tsx";
import { callFor, chunksOf } from "./actions.tsx";

/** Quarter turns clockwise: to the right once, or to the left, which is three times to the right. */
export type Turns = 1 | 3;

/** Presses that follow one another within this time are one turn. */
const collectMs = 350;

interface Asked {
  readonly ids: readonly string[];
  readonly turns: number;
}

/** Adds a press to what was asked for before, which is null where that was about other pictures. */
export function collectTurns(before: Asked | null, ids: readonly string[], turns: Turns): Asked {
  return { ids, turns: ((before?.turns ?? 0) + turns) % 4 };
}

const isSame = (before: Asked, ids: readonly string[]) => before.ids.join() === ids.join();

/** The job once it has ended, as the live stream tells. */
function endOf(jobId: string): Promise<JobView> {
  return new Promise((resolve) => {
    let stop = (): void => undefined;
    const look = () => {
      const job = live.job(jobId);
      if (job === undefined || !hasEnded(job)) return;
      stop();
      resolve(job);
    };
    stop = live.watchJob(jobId, look);
    look();
  });
}

interface Turned {
  readonly fromId: string;
  readonly toId: string;
}

/** What became of each picture; nothing of one whose job failed or was cancelled. */
function turnedOf(ids: readonly string[], ended: readonly JobView[]): Turned[] {
  return ended.flatMap(({ outputs: [output] }, at) => {
    const fromId = ids[at];
    return output === undefined || fromId === undefined ? [] : [{ fromId, toId: output.imageId }];
  });
}

/** Starts the jobs, as one batch where they are several. */
function useStart() {
  const t = useTranslations("pictures");
  const most = useCapabilities()?.limits.maxBatchJobs ?? 1;
  const [submissions] = useState(() => ({ job: createJobSubmission(), batch: createBatchSubmission() }));
  return async ({ ids, turns }: Asked): Promise<string[]> => {
    const jobs = ids.map((image) => ({ kind: "crop" as const, inputs: { image }, params: { turns } }));
    if (jobs.length === 1) return (await submitAgreed(submissions.job, jobs, freeOnly)).map(({ id }) => id);
    const jobIds: string[] = [];
    for (const chunk of chunksOf(jobs, most)) {
      const input = { title: t("turning", { count: chunk.length }), jobs: chunk };
      jobIds.push(...(await submitBatch(submissions.batch, { input, shownUsd: 0 })).jobIds);
    }
    return jobIds;
  };
}

/**
 * Turns pictures by quarters, with undo: the turned picture is a further version, on top of its stack with the marks of the one before.
 * `onTurned` hears what became of each picture, also after Undo.
 */
export function useTurn(onTurned?: (fromId: string, toId: string) => void) {
  const t = useTranslations("pictures");
  const queries = useQueryClient();
  const showFailure = useFailureToast();
  const start = useStart();
  const asked = useRef<Asked | null>(null);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);

  const refresh = (...lists: readonly (readonly unknown[])[]) => {
    for (const queryKey of [...lists, keys.boards, keys.tags]) void queries.invalidateQueries({ queryKey });
  };
  const takeBack = async (ids: readonly string[], jobIds: readonly string[]) => {
    await Promise.allSettled(jobIds.map((id) => api.jobs.cancel.mutate({ id })));
    const turned = turnedOf(ids, await Promise.all(jobIds.map(endOf)));
    for (const { fromId, toId } of turned) onTurned?.(toId, fromId);
    const { failure } = await callFor(
      turned.map(({ toId }) => toId),
      (some) => api.images.remove.mutate({ ids: some }),
    );
    refresh(keys.imageLists);
    if (failure) throw failure.error;
  };
  const runOn = async (ids: readonly string[], turns: number): Promise<readonly Turned[]> => {
    const jobIds = await start({ ids, turns });
    toastWithUndo({
      title: t("turning", { count: jobIds.length }),
      undoLabel: t("undo"),
      onUndo: () => void takeBack(ids, jobIds).catch(showFailure),
    });
    const ended = await Promise.all(jobIds.map(endOf));
    const turned = turnedOf(ids, ended);
    for (const { fromId, toId } of turned) onTurned?.(fromId, toId);
    const failed = ended.filter(({ status }) => status === "failed").length;
    if (failed > 0) toastFailure(t("notTurned", { count: failed }));
    refresh();
    return turned;
  };
  /** A picture that is still being turned is turned further once it is there. */
  const becoming = useRef(new Map<string, Promise<string>>());
  const run = async ({ ids, turns }: Asked) => {
    const sources = Promise.all(ids.map((id) => becoming.current.get(id) ?? Promise.resolve(id)));
    const made = sources.then((now) => runOn(now, turns));
    const own = ids.map((id, at) => {
      const result = Promise.all([sources, made]).then(
        ([now, turned]) => turned.find(({ fromId }) => fromId === now[at])?.toId ?? now[at] ?? id,
        () => id,
      );
      becoming.current.set(id, result);
      return { id, result };
    });
    try {
      await made;
    } finally {
      for (const { id, result } of own) if (becoming.current.get(id) === result) becoming.current.delete(id);
    }
  };
  const latest = useRef(run);
  useEffect(() => {
    latest.current = run;
  });
  return useCallback(
    (ids: readonly string[], turns: Turns) => {
      if (ids.length === 0) return;
      const begin = () => {
        const order = asked.current;
        asked.current = null;
        if (order !== null && order.turns > 0) latest.current(order).catch(showFailure);
      };
      clearTimeout(timer.current);
      // What was asked of other pictures does not wait for these.
      if (asked.current !== null && !isSame(asked.current, ids)) begin();
      asked.current = collectTurns(asked.current, ids, turns);
      timer.current = setTimeout(begin, collectMs);
    },
    [showFailure],
  );
}

/** The entries of a menu. */
export function TurnItems({ onTurn }: { readonly onTurn: (turns: Turns) => void }) {
  const t = useTranslations("pictures");
  const isPossible = useCapability("crop")?.available !== false;
  return (
    <>
      <MenuItem disabled={!isPossible} onSelect={() => onTurn(3)}>
        <RotateCcw aria-hidden />
        {t("turnLeft")}
      </MenuItem>
      <MenuItem disabled={!isPossible} onSelect={() => onTurn(1)}>
        <RotateCw aria-hidden />
        {t("turnRight")}
      </MenuItem>
    </>
  );
}

/** The turn of a key: R to the right, Shift+R to the left. */
export const turnOfKey = (key: string): Turns | null => (key === "r" ? 1 : key === "R" ? 3 : null);
