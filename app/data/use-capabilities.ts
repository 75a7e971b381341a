"use client";
import { useQuery } from "@tanstack/react-query";
import type { JobKind } from "@atelier/server/engines";
import { api } from "./api.ts";
import { keys } from "./keys.ts";

export function useCapabilities() {
  return useQuery({
    queryKey: keys.capabilities,
    queryFn: () => api.jobs.capabilities.query(),
    staleTime: 60_000,
  }).data;
}

/** What can be done about one kind of job; undefined until it is known. */
export function useCapability(kind: JobKind) {
  return useCapabilities()?.items.find((item) => item.kind === kind);
}
