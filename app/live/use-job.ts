"use client";
import { useQuery } from "@tanstack/react-query";
import { useCallback, useEffect, useSyncExternalStore } from "react";
import { api } from "../client/api.ts";
import { keys } from "../data/keys.ts";
import { live } from "./live.ts";

const nothing = () => undefined;

/** One job as it changes; asked for once when the stream has not told of it. */
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

/** What the engine says about a running job; undefined before its first word. */
export function useProgress(id: string) {
  const watch = useCallback((listener: () => void) => live.watchJob(id, listener), [id]);
  return useSyncExternalStore(watch, () => live.progress(id), nothing);
}
