import type { OfferedWorkflow } from "../../data/use-workflows.ts";

export const localChoice = "local";

interface Situation {
  /** Workflows that change outfits, the best first. */
  readonly workflows: readonly OfferedWorkflow[];
  readonly wished: string | null;
  readonly isPainted: boolean;
}

export interface OutfitChoice {
  /** What can run now, the best first; null is the engine of this computer. */
  readonly options: readonly (OfferedWorkflow | null)[];
  readonly chosen: OfferedWorkflow | null;
}

const mask = ({ inputs }: OfferedWorkflow) => inputs.find(({ role }) => role === "mask");

export function takesMask(workflow: OfferedWorkflow | null): boolean {
  return workflow !== null && mask(workflow) !== undefined;
}

export function needsMask(workflow: OfferedWorkflow | null): boolean {
  return workflow !== null && mask(workflow)?.required === true;
}

/** What changes the outfit: what was wished if it can run, else what follows the marks, else the best. */
export function chooseOutfitEngine({ workflows, wished, isPainted }: Situation): OutfitChoice {
  const live = workflows.filter(({ isLive }) => isLive);
  const options = [...live, null];
  if (wished === localChoice) return { options, chosen: null };
  const best = isPainted ? live.find(takesMask) : undefined;
  const chosen = live.find(({ name }) => name === wished) ?? best ?? live.find((one) => !needsMask(one));
  return { options, chosen: chosen ?? null };
}
