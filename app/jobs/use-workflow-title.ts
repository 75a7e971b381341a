"use client";
import { useCallback } from "react";
import { useAllWorkflows } from "../data/use-workflows.ts";

/** What a workflow is called; its name when nobody offers it any more. */
export function useWorkflowTitle(): (name: string) => string {
  const workflows = useAllWorkflows();
  return useCallback(
    (name) => workflows?.find((workflow) => workflow.name === name)?.title ?? name,
    [workflows],
  );
}
