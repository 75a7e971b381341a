"use client";
import type { JobView } from "@atelier/server/jobs";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { api } from "../client/api.ts";
import { keys } from "../data/keys.ts";
import { withLive } from "../jobs/list/with-live.ts";
import { hasEnded } from "../live/live-state.ts";
import { useLiveJobs } from "../live/use-live-jobs.ts";

const filters = { kind: "text_to_image" } as const;
const pageSize = 30;

/** What failed is shown to who saw it run; later it stands in the jobs. */
function isShown(job: JobView, live: readonly JobView[]): boolean {
  if (!hasEnded(job)) return true;
  if (job.status === "completed") return job.outputs.length > 0;
  return job.status === "failed" && live.some(({ id }) => id === job.id);
}

/** Pictures from words, made and in the making, newest first. */
export function useCreations() {
  const live = useLiveJobs();
  const query = useInfiniteQuery({
    queryKey: keys.jobList(filters),
    queryFn: ({ pageParam }) =>
      api.jobs.list.query({ ...filters, cursor: pageParam ?? undefined, limit: pageSize }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.nextCursor,
  });
  const jobs = useMemo(() => {
    const loaded = query.data?.pages.flatMap((page) => page.items);
    return loaded && withLive(loaded, live, filters).filter((job) => isShown(job, live));
  }, [live, query.data]);
  return { ...query, jobs };
}
