"use client";
import { useQuery } from "@tanstack/react-query";
import type { JobKind } from "@atelier/server/engines";
import type { OfferedWorkflow } from "@atelier/server/scheduling";
import { api } from "../client/api.ts";
import { keys } from "./keys.ts";

export type { OfferedParam, OfferedWorkflow } from "@atelier/server/scheduling";

const askAgainMs = 15_000;

/** The answer with its state. Servers come and go, so it is asked again. */
export function useWorkflowsQuery() {
  return useQuery({
    queryKey: keys.workflows,
    queryFn: () => api.workflows.list.query(),
    staleTime: askAgainMs,
    refetchInterval: askAgainMs,
  });
}

/** Every workflow, those that can run now first; undefined until it is known. */
export function useAllWorkflows(): readonly OfferedWorkflow[] | undefined {
  return useWorkflowsQuery().data?.items;
}

/** The workflows of one kind. */
export function useWorkflows(kind: JobKind): readonly OfferedWorkflow[] | undefined {
  return useAllWorkflows()?.filter((workflow) => workflow.kind === kind);
}
