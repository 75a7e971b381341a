"use client";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo, useSyncExternalStore } from "react";
import type { JobView } from "@atelier/server/jobs";
import { api } from "../client/api.ts";
import { keys } from "../client/queries.ts";
import { followAccountChange } from "./channel.ts";
import { type Connection, hasEnded, live } from "./store.ts";
import { openJobStream } from "./stream.ts";
import { startLive } from "./tabs.ts";

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

/** Holds the live stream while the page is open; refetches data that an ended job or an outage made stale. */
export function LiveConnection() {
  const queries = useQueryClient();
  useEffect(
    () =>
      startLive({
        store: live,
        open: openJobStream,
        onAccountChange: followAccountChange,
        locks: navigator.locks,
      }),
    [],
  );
  useEffect(
    () =>
      live.onEnd((job) => {
        void queries.invalidateQueries({ queryKey: keys.job(job.id) });
        void queries.invalidateQueries({ queryKey: ["jobs", "list"] });
        if (job.status === "completed") void queries.invalidateQueries({ queryKey: ["images", "list"] });
      }),
    [queries],
  );
  const isLive = useConnection() === "live";
  useEffect(() => {
    if (!isLive) return;
    void queries.refetchQueries({ type: "active", predicate: ({ state }) => state.status === "error" });
  }, [isLive, queries]);
  return null;
}
