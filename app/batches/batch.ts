"use client";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useTranslations } from "next-intl";
import { useEffect, useMemo } from "react";
import type { BatchPlace, BatchView, BatchWithJobs } from "@atelier/server/batches";
import type { JobView } from "@atelier/server/jobs";
import { api } from "../client/api.ts";
import { useFailureToast } from "../ui/failures.ts";
import { keys } from "../client/queries.ts";
import { useLiveJobs } from "../live/hooks.tsx";
import { toastFailure, toastWithUndo } from "../ui/toasts.tsx";

type Counts = BatchView["counts"];

const countOf: Readonly<Record<JobView["status"], keyof Counts>> = {
  pending: "waiting",
  queued: "waiting",
  waiting_for_engine: "running",
  processing: "running",
  completed: "completed",
  failed: "failed",
  cancelled: "cancelled",
};

/** The place with what the live stream has told of its job since. */
function withNewer(place: BatchPlace, newest: ReadonlyMap<string, JobView>): BatchPlace {
  const job = place.job && newest.get(place.job.id);
  return job && place.job && job.revision > place.job.revision ? { ...place, job } : place;
}

/** Where a place stands: one with a step to come waits, one that was stopped has failed, whatever its job before made. */
export function statusOf({ job, steps }: BatchPlace): keyof Counts {
  if (job === null) return "removed";
  if (job.status !== "completed" || steps === null || steps.begun === steps.count) return countOf[job.status];
  if (steps.stopped === null) return "waiting";
  return steps.stopped.code === "cancelled" ? "cancelled" : "failed";
}

function doneOf(place: BatchPlace): number {
  const { job, steps } = place;
  const status = statusOf(place);
  if (job === null || (status !== "waiting" && status !== "running")) return 1;
  return ((steps?.begun ?? 0) + job.progress) / ((steps?.count ?? 0) + 1);
}

/** Its job has completed and the next one has not begun, of which the live stream tells nothing that belongs to the batch. */
const isBetween = (place: BatchPlace) => place.job?.status === "completed" && statusOf(place) === "waiting";

/** A batch as the server read it, with what the live stream has told of its jobs since. */
export function withLiveJobs(batch: BatchWithJobs, live: readonly JobView[]): BatchWithJobs {
  const newest = new Map(live.map((job) => [job.id, job]));
  const jobs = batch.jobs.map((place) => withNewer(place, newest));
  const counts = { waiting: 0, running: 0, completed: 0, failed: 0, cancelled: 0, removed: 0 };
  for (const place of jobs) counts[statusOf(place)] += 1;
  const progress = jobs.reduce((sum, place) => sum + doneOf(place), 0) / Math.max(1, batch.size);
  return {
    ...batch,
    jobs,
    counts,
    progress: Math.min(1, progress),
    status: counts.waiting + counts.running > 0 ? "open" : "ended",
  };
}

/** Whether a job that the page does not know runs again what stood in the batch. */
export function hasSuccessor(batch: BatchWithJobs, live: readonly JobView[]): boolean {
  const own = new Set(batch.jobs.flatMap(({ job }) => (job ? [job.id] : [])));
  return live.some(({ id, retryOf }) => retryOf !== null && own.has(retryOf) && !own.has(id));
}

/** A place came between two jobs since the batch was read. */
const isBehind = (data: BatchWithJobs, batch: BatchWithJobs | undefined) =>
  batch !== undefined && batch.jobs.filter(isBetween).length > data.jobs.filter(isBetween).length;

/** All that is open was asked to stop. A place between two jobs has nothing that could have been asked. */
export function isCancelling(places: readonly BatchPlace[]): boolean {
  const open = places.filter((place) => ["waiting", "running"].includes(statusOf(place)));
  return (
    open.length > 0 && open.every(({ job }) => job?.status !== "completed" && job?.cancelRequested === true)
  );
}

const betweenMs = 1_000;
/** What was read anew may be behind again. */
const staleMs = 5_000;

/** One batch, whose places change as the live stream tells of their jobs. Undefined until loaded. */
export function useBatch(id: string | null) {
  const queries = useQueryClient();
  const { data, error, refetch } = useQuery({
    queryKey: keys.batch(id ?? ""),
    queryFn: () => api.batches.get.query({ id: id ?? "" }),
    enabled: id !== null,
    refetchInterval: ({ state }) => state.data?.jobs.some(isBetween) === true && betweenMs,
  });
  const live = useLiveJobs();
  const batch = useMemo(() => data && withLiveJobs(data, live), [data, live]);
  const isStale =
    data !== undefined &&
    (hasSuccessor(data, live) || batch?.status !== data.status || isBehind(data, batch));
  useEffect(() => {
    if (!isStale || id === null) return;
    const queryKey = keys.batch(id);
    void queries.invalidateQueries({ queryKey });
    // One that is still on its way is not asked for again.
    const askAgain = () => void queries.invalidateQueries({ queryKey }, { cancelRefetch: false });
    const timer = setInterval(askAgain, staleMs);
    return () => clearInterval(timer);
  }, [id, isStale, queries]);
  return { batch, error, retry: () => void refetch() };
}

/** What one can do with a batch as a whole. */
export function useBatchActions(id: string) {
  const t = useTranslations("batches");
  const queries = useQueryClient();
  const onError = useFailureToast();
  const onSettled = () => queries.invalidateQueries({ queryKey: keys.batches });
  const cancel = useMutation({ mutationFn: () => api.batches.cancel.mutate({ id }), onError, onSettled });
  const retry = useMutation({
    mutationFn: () => api.batches.retry.mutate({ id }),
    onSuccess: ({ retried, refused: [first, ...others] }) => {
      if (first) toastFailure(t("refused", { retried, count: others.length + 1 }), first.message);
    },
    onError,
    onSettled,
  });
  const restore = useMutation({
    mutationFn: () => api.batches.restore.mutate({ id }),
    onError,
    onSettled: async () => {
      await onSettled();
      await queries.invalidateQueries({ queryKey: keys.imageLists });
    },
  });
  const remove = useMutation({
    mutationFn: () => api.batches.remove.mutate({ id }),
    onSuccess: () =>
      toastWithUndo({ title: t("removed"), undoLabel: t("undo"), onUndo: () => restore.mutate() }),
    onError,
    // Not the batch itself, which is no longer there.
    onSettled: async () => {
      await queries.invalidateQueries({ queryKey: keys.batchList });
      await queries.invalidateQueries({ queryKey: keys.imageLists });
    },
  });
  return { cancel, retry, remove };
}
