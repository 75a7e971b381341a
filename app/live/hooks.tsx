"use client";
import { useQuery } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo, useSyncExternalStore } from "react";
import type { JobView } from "@atelier/server/jobs";
import { api } from "../client/api.ts";
import { followAccountChange } from "../client/leaving.ts";
import { keys } from "../client/queries.ts";
import { later } from "../ui/later.tsx";
import { type Connection, hasEnded, live } from "./store.ts";

const nothing = () => undefined;

/** One job as it changes; fetched once when the stream has not reported it. */
export function useJob(id: string | null) {
  const watch = useCallback((listener: () => void) => live.watchJob(id ?? "", listener), [id]);
  const job = useSyncExternalStore(watch, () => live.job(id ?? ""), nothing);
  const { data, isError } = useQuery({
    queryKey: keys.job(id ?? ""),
    queryFn: () => api.jobs.get.query({ id: id ?? "" }),
    enabled: id !== null && job === undefined,
    staleTime: Infinity,
  });
  useEffect(() => {
    if (data !== undefined) live.put(data);
  }, [data]);
  return { job, isMissing: isError && job === undefined };
}

/** The progress of a running job; undefined before the engine's first report. */
export function useProgress(id: string) {
  const watch = useCallback((listener: () => void) => live.watchJob(id, listener), [id]);
  return useSyncExternalStore(watch, () => live.progress(id), nothing);
}

const none: readonly JobView[] = [];

/** Jobs that are open, or that ended while this browser watched; newest first. Selections show on their picture alone. */
export function useLiveJobs(): readonly JobView[] {
  const jobs = useSyncExternalStore(live.watchList, live.list, () => none);
  return useMemo(() => jobs.filter(({ kind }) => kind !== "segment"), [jobs]);
}

/** How many live jobs have not ended. */
export function useOpenJobCount(): number {
  return useLiveJobs().filter((job) => !hasEnded(job)).length;
}

export function useConnection(): Connection {
  return useSyncExternalStore(live.watchList, live.connection, () => "connecting");
}

const Feed = later(async () => (await import("./feed.tsx")).Feed);
const noProps = {};
const showBreak = () => live.setConnection("reconnecting");

/** Holds the live stream while the page is open, and follows a change of the account, for which the stream's code is not needed. */
export function LiveConnection() {
  useEffect(followAccountChange, []);
  return <Feed isWanted onFailure={showBreak} props={noProps} />;
}
