"use client";
import { useSyncExternalStore } from "react";
import { live } from "./live.ts";
import type { Connection } from "./live-state.ts";
import type { JobView } from "@atelier/server/jobs";

const none: readonly JobView[] = [];

/** Jobs that are open or ended while this browser watched; newest first. */
export function useLiveJobs(): readonly JobView[] {
  return useSyncExternalStore(live.watchList, live.list, () => none);
}

export function useConnection(): Connection {
  return useSyncExternalStore(live.watchList, live.connection, () => "connecting");
}
