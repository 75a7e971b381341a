"use client";
import { type InvalidateOptions, useQueryClient } from "@tanstack/react-query";
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
import { failureOf, useFailureToast } from "../ui/failures.ts";
import { toastFailure, toastWithUndo } from "../ui/toasts.tsx";
import { callFor } from "./actions.tsx";
import { tellChange } from "./changes.ts";

/** Quarter turns clockwise: to the right once, or to the left, which is three times to the right. */
export type Turns = 1 | 3;

/** Presses that follow one another within this time are one turn. */
const collectMs = 350;

/** A picture that is being turned. Each id that it has had leads to it until the lists have been read again. */
interface Line {
  now: string;
  /** The end of what was asked of it last. */
  busy: Promise<unknown>;
  holders: number;
  readonly ids: Set<string>;
}
const lines = new Map<string, Line>();

/** The picture that this one has become, or becomes; to be let go. */
export function holdLine(id: string): Line {
  const line = lines.get(id) ?? { now: id, busy: Promise.resolve(), holders: 0, ids: new Set([id]) };
  line.holders += 1;
  lines.set(id, line);
  return line;
}

export function letGo(held: readonly Line[]): void {
  for (const line of held) {
    line.holders -= 1;
    if (line.holders > 0) continue;
    for (const id of line.ids) lines.delete(id);
  }
}

/** Does something with pictures that are held once all that was asked of them before is done, and lets them go. */
export async function inLine<T>(held: readonly Line[], work: () => Promise<T>): Promise<T> {
  const made = Promise.all(held.map(({ busy }) => busy)).then(work);
  const ended = made.catch(() => undefined);
  for (const line of held) line.busy = ended;
  try {
    return await made;
  } finally {
    letGo(held);
  }
}

interface Turned {
  readonly fromId: string;
  readonly toId: string;
}

/** Leads to what became of pictures, also for who holds some that no list has; `by` as many of their stacks. */
export function tellTurned(turned: readonly Turned[], by: 1 | -1): void {
  const toIds = new Map(turned.map(({ fromId, toId }) => [fromId, toId]));
  for (const [fromId, toId] of toIds) {
    const line = lines.get(fromId);
    if (line?.now !== fromId) continue;
    line.now = toId;
    lines.set(toId, line);
    line.ids.add(toId);
  }
  tellChange(new Set(toIds.keys()), (image) => ({
    ...image,
    id: toIds.get(image.id) ?? image.id,
    stackSize: (image.stackSize ?? 1) + by,
  }));
}

interface Asked {
  readonly held: readonly Line[];
  readonly turns: number;
}

/** Adds a press to what was asked for before, which is null where that was about other pictures. */
export function collectTurns(before: Asked | null, held: readonly Line[], turns: Turns): Asked {
  return { held, turns: ((before?.turns ?? 0) + turns) % 4 };
}

const isSame = (before: Asked, held: readonly Line[]) =>
  before.held.length === held.length && held.every((line, at) => line === before.held[at]);

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

/** What became of each picture; nothing of one whose job failed or was cancelled. */
function turnedOf(ids: readonly string[], ended: readonly JobView[]): Turned[] {
  return ended.flatMap(({ outputs: [output] }, at) => {
    const fromId = ids[at];
    return output === undefined || fromId === undefined ? [] : [{ fromId, toId: output.imageId }];
  });
}

interface Parts {
  readonly most: number;
  readonly isStopped: () => boolean;
  /** Starts the jobs of one part, and returns their ids. */
  readonly start: (ids: readonly string[]) => Promise<readonly string[]>;
  /** Ends with the jobs. */
  readonly follow: (ids: readonly string[], jobIds: readonly string[]) => Promise<void>;
}

/** One part after the end of the other, since only so many jobs of a user are open at a time; smaller ones where others of theirs are. */
export async function inParts(ids: readonly string[], { most, isStopped, start, follow }: Parts) {
  let size = most;
  for (let at = 0; at < ids.length && !isStopped();) {
    const part = ids.slice(at, at + size);
    const jobIds = await start(part).catch((error: unknown) => {
      if (part.length === 1 || failureOf(error).code !== "quota_exceeded") throw error;
      return null;
    });
    if (jobIds === null) size = Math.floor(part.length / 2);
    else {
      at += part.length;
      await follow(part, jobIds);
    }
  }
}

/** Starts the jobs, as one batch where they are several. */
function useStart() {
  const t = useTranslations("pictures");
  const [submissions] = useState(() => ({ job: createJobSubmission(), batch: createBatchSubmission() }));
  return async (ids: readonly string[], turns: number): Promise<readonly string[]> => {
    const jobs = ids.map((image) => ({ kind: "crop" as const, inputs: { image }, params: { turns } }));
    if (jobs.length === 1) return (await submitAgreed(submissions.job, jobs, freeOnly)).map(({ id }) => id);
    const input = { title: t("turning", { count: jobs.length }), jobs };
    return (await submitBatch(submissions.batch, { input, shownUsd: 0 })).jobIds;
  };
}

/** Those that have ended stay as they are. */
async function cancelAll(jobIds: readonly string[]): Promise<void> {
  const open = jobIds.filter((id) => !hasEnded(live.job(id) ?? { status: "pending" }));
  await Promise.allSettled(open.map((id) => api.jobs.cancel.mutate({ id })));
}

/**
 * Turns pictures by quarters, with undo: the turned picture is a further version, on top of its stack with the marks of the one before.
 * `onTurned` hears what became of each picture, also after Undo.
 */
export function useTurn(onTurned?: (fromId: string, toId: string) => Promise<void>) {
  const t = useTranslations("pictures");
  const queries = useQueryClient();
  const showFailure = useFailureToast();
  const most = useCapabilities()?.limits.maxBatchJobs ?? 1;
  const start = useStart();
  const asked = useRef<Asked | null>(null);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);

  /** Ends when the lists have been read: until then a press is for what they show. */
  const refresh = async (options?: InvalidateOptions) => {
    for (const queryKey of [keys.boards, keys.tags]) void queries.invalidateQueries({ queryKey });
    await queries.invalidateQueries({ queryKey: keys.imageLists }, options);
  };
  const show = async (turned: readonly Turned[]) => {
    if (onTurned) await Promise.all(turned.map(({ fromId, toId }) => onTurned(fromId, toId)));
  };
  const takeBack = async (turned: readonly Turned[]) => {
    const back = turned.map(({ fromId, toId }) => ({ fromId: toId, toId: fromId }));
    await show(back);
    const { done, failure } = await callFor(
      back.map(({ fromId }) => fromId),
      (some) => api.images.remove.mutate({ ids: some }),
    );
    const gone = new Set(done);
    tellTurned(
      back.filter(({ fromId }) => gone.has(fromId)),
      -1,
    );
    await refresh();
    if (failure) throw failure.error;
  };
  const run = async ({ held, turns }: Asked) => {
    const ids = held.map(({ now }) => now);
    const turned: Turned[] = [];
    let [failed, parts, isStopped] = [0, 0, false];
    let open: readonly string[] = [];
    const undo = async () => {
      isStopped = true;
      // After the end of what is being turned.
      const undone = inLine(
        held.map(({ now }) => holdLine(now)),
        () => takeBack(turned.splice(0)),
      );
      await cancelAll(open);
      await undone;
    };
    const offerUndo = (title: string) =>
      toastWithUndo({ title, undoLabel: t("undo"), onUndo: () => void undo().catch(showFailure) });
    const follow = async (part: readonly string[], jobIds: readonly string[]) => {
      open = jobIds;
      parts += 1;
      if (parts === 1) offerUndo(t("turning", { count: ids.length }));
      if (isStopped) await cancelAll(jobIds);
      const ended = await Promise.all(jobIds.map(endOf));
      const now = turnedOf(part, ended);
      turned.push(...now);
      failed += ended.filter(({ status }) => status === "failed").length;
      tellTurned(now, 1);
      await show(now);
    };
    let isWhole = true;
    try {
      await inParts(ids, { most, isStopped: () => isStopped, start: (part) => start(part, turns), follow });
    } catch (error) {
      isWhole = false;
      showFailure(error);
    }
    if (failed > 0) toastFailure(t("notTurned", { count: failed }));
    // The first offer of Undo may be gone by now.
    if (!isStopped && turned.length > 0 && (parts > 1 || !isWhole))
      offerUndo(t("turned", { count: turned.length }));
    // Each end has begun to read them.
    if (parts > 0) await refresh({ cancelRefetch: false });
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
        if (order === null) return;
        if (order.turns === 0) letGo(order.held);
        else inLine(order.held, () => latest.current(order)).catch(showFailure);
      };
      clearTimeout(timer.current);
      // At the press: the list shows the turned picture before this begins.
      const held = ids.map(holdLine);
      if (asked.current !== null && isSame(asked.current, held)) letGo(held);
      // What was asked of other pictures does not wait for these.
      else begin();
      asked.current = collectTurns(asked.current, held, turns);
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
