"use client";
import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { keys } from "../data/keys.ts";
import { followAccountChange } from "./account-change.ts";
import { live } from "./live.ts";
import { openJobStream } from "./open-job-stream.ts";
import { startLive } from "./start-live.ts";

/** Keeps the live stream for as long as the page stands, and freshens the lists that an ended job changed. */
export function LiveConnection() {
  const queries = useQueryClient();
  useEffect(() => startLive({ store: live, open: openJobStream, onAccountChange: followAccountChange }), []);
  useEffect(
    () =>
      live.onEnd((job) => {
        void queries.invalidateQueries({ queryKey: keys.job(job.id) });
        void queries.invalidateQueries({ queryKey: ["jobs", "list"] });
        if (job.status === "completed") void queries.invalidateQueries({ queryKey: ["images", "list"] });
      }),
    [queries],
  );
  return null;
}
