"use client";
import { useQuery } from "@tanstack/react-query";
import type { JobKind } from "@atelier/server/engines";
import type { Capabilities } from "@atelier/server/jobs";
import { useIsHydrated } from "../ui/use-is-hydrated.ts";
import { api } from "./api.ts";
import { keys } from "../data/keys.ts";

const askAgainMs = 15_000;

/** Whether something cannot be done now; who can do it may come at any moment. */
function lacksSomebody(capabilities: Capabilities | undefined): boolean {
  return capabilities?.items.some(({ available, reason }) => !available || reason !== null) ?? false;
}

/**
 * The answer with its state, for a place that must tell waiting from failing. Frame and page hydrate apart: the answer to
 * the first must not change what the second expects of the server's HTML.
 */
export function useCapabilitiesQuery() {
  const isHydrated = useIsHydrated();
  const query = useQuery({
    queryKey: keys.capabilities,
    queryFn: () => api.jobs.capabilities.query(),
    staleTime: 60_000,
    refetchInterval: ({ state }) => lacksSomebody(state.data) && askAgainMs,
  });
  const { data, error, refetch } = query;
  return { data: isHydrated ? data : undefined, error: isHydrated ? error : null, refetch };
}

export function useCapabilities() {
  return useCapabilitiesQuery().data;
}

/** What can be done about one kind of job; undefined until it is known. */
export function useCapability(kind: JobKind) {
  return useCapabilities()?.items.find((item) => item.kind === kind);
}
