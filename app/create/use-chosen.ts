"use client";
import { useCapability } from "../client/queries.ts";
import { type OfferedWorkflow, useWorkflows } from "../data/use-workflows.ts";
import { useForm } from "./form/use-form.ts";

interface Choice {
  readonly offered: readonly OfferedWorkflow[] | undefined;
  /** The one that was chosen, else the best that can run now. */
  readonly chosen: OfferedWorkflow | undefined;
  readonly canMake: boolean;
  /** Why nothing can make pictures; null when something can. */
  readonly reason: string | null;
}

const unknown = { available: true, reason: null } as const;

/** What the pictures are made with. */
export function useChosen(): Choice {
  const form = useForm();
  const offered = useWorkflows("text_to_image");
  const { available, reason } = useCapability("text_to_image") ?? unknown;
  const chosen = offered?.find(({ name }) => name === form.workflow) ?? offered?.[0];
  // The workflows are asked for again and again: a server that was just connected counts at once.
  const isLive = offered?.some((workflow) => workflow.isLive) ?? false;
  const isPossible = isLive || available;
  return {
    offered,
    chosen,
    canMake: chosen !== undefined && isPossible && form.prompt.trim() !== "",
    reason: isPossible ? null : reason,
  };
}
