"use client";
import { useQuery } from "@tanstack/react-query";
import type { JobView } from "@atelier/server/jobs";
import { api } from "../../client/api.ts";
import { keys } from "../../data/keys.ts";
import { useLiveJobs } from "../../live/use-live-jobs.ts";

const askAgainMs = 3_000;

export function isWaiting({ status }: Pick<JobView, "status">): boolean {
  return status === "pending" || status === "queued";
}

const none = { items: [], total: 0 } as const;

/** The own waiting jobs in the order in which they are served; asked for only while one waits. */
export function useWaiting() {
  const waits = useLiveJobs().some(isWaiting);
  const { data } = useQuery({
    queryKey: keys.waiting,
    queryFn: () => api.jobs.waiting.query(),
    enabled: waits,
    staleTime: askAgainMs,
    refetchInterval: askAgainMs,
  });
  return waits ? (data ?? none) : none;
}
