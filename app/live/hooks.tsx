"use client";
import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { keys } from "../data/keys.ts";
import { followAccountChange } from "./account-change.ts";
import { live } from "./live.ts";
import { openJobStream } from "./open-job-stream.ts";
import { startLive } from "./tabs.ts";
import { useConnection } from "./use-live-jobs.ts";

/** Keeps the live stream for as long as the page stands, and freshens what an ended job changed or an outage broke. */
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
