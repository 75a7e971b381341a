"use client";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { JobView } from "@atelier/server/jobs";
import { api } from "../../client/api.ts";
import { keys } from "../../data/keys.ts";
import { useFailureToast } from "../../data/use-failure-toast.ts";
import { useLiveJobs } from "../../live/use-live-jobs.ts";
import { useWaiting } from "../waiting/use-waiting.ts";
import { moved, nextInLine } from "./moved.ts";

type Waiting = Awaited<ReturnType<typeof api.jobs.waiting.query>>;

/** Fewer cannot be reordered. */
const leastInLine = 2;

/** The own jobs whose order can still change, as they will be served; empty when there is nothing to reorder. */
export function useLine() {
  const queries = useQueryClient();
  const showFailure = useFailureToast();
  const live = useLiveJobs();
  const { items: waiting, total } = useWaiting();
  const all = waiting.flatMap(({ id }): JobView[] => {
    const job = live.find((one) => one.id === id);
    return job?.status === "pending" && !job.cancelRequested ? [job] : [];
  });
  const jobs = all.length < leastInLine ? [] : all;
  const { mutate } = useMutation({
    mutationFn: (input: { id: string; before: string | null }) => api.jobs.moveInLine.mutate(input),
    onError: showFailure,
    onSettled: () => queries.invalidateQueries({ queryKey: keys.waiting }),
  });
  const unshown = total - waiting.length;
  /** False where it may not go. */
  function move(from: number, to: number): boolean {
    const job = jobs[from];
    if (job === undefined || to === from || to < 0 || to >= jobs.length) return false;
    const next = moved(jobs, from, to);
    const before = nextInLine(next, job.id);
    // Before none means behind those, too, that are not shown.
    if (before === null && unshown > 0) return false;
    const places = new Map(next.map(({ id }, index) => [id, index]));
    // Shown at once; the server's answer comes with the next look at the line.
    void queries.cancelQueries({ queryKey: keys.waiting });
    queries.setQueryData<Waiting>(
      keys.waiting,
      (data) =>
        data && {
          ...data,
          items: data.items.toSorted((a, b) => (places.get(a.id) ?? -1) - (places.get(b.id) ?? -1)),
        },
    );
    mutate({ id: job.id, before });
    return true;
  }
  return { jobs, total: jobs.length + unshown, move };
}
