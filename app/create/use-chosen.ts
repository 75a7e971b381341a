"use client";
import { useCapability } from "../data/use-capabilities.ts";
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

/** What the pictures are made with. */
export function useChosen(): Choice {
  const form = useForm();
  const offered = useWorkflows("text_to_image");
  const capability = useCapability("text_to_image");
  const chosen = offered?.find(({ name }) => name === form.workflow) ?? offered?.[0];
  const isPossible = capability?.available === true && chosen !== undefined;
  return {
    offered,
    chosen,
    canMake: isPossible && form.prompt.trim() !== "",
    reason: capability?.available === false ? capability.reason : null,
  };
}
