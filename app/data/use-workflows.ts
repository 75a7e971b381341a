"use client";
import type { JobKind } from "@atelier/server/engines";
import type { OfferedWorkflow } from "@atelier/server/scheduling";
import { useQuery } from "@tanstack/react-query";
import { api } from "./api.ts";
import { keys } from "./keys.ts";

export type { OfferedParam, OfferedWorkflow } from "@atelier/server/scheduling";

const askAgainMs = 15_000;

/** Every workflow, those that can run now first; undefined until it is known. Servers come and go, so it is asked again. */
export function useAllWorkflows(): readonly OfferedWorkflow[] | undefined {
  const { data } = useQuery({
    queryKey: keys.workflows,
    queryFn: () => api.workflows.list.query(),
    staleTime: askAgainMs,
    refetchInterval: askAgainMs,
  });
  return data?.items;
}

/** The workflows of one kind. */
export function useWorkflows(kind: JobKind): readonly OfferedWorkflow[] | undefined {
  return useAllWorkflows()?.filter((workflow) => workflow.kind === kind);
}
