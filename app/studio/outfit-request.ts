import type { SubmitInput } from "@atelier/server/jobs";
import type { OfferedWorkflow } from "../data/use-workflows.ts";
import type { Category } from "./studio-store.ts";

export type OutfitRequest = Extract<SubmitInput, { kind: "outfit_change" }>;

interface Wish {
  readonly person: string;
  readonly garment: string;
  readonly mask: string | null;
  readonly category: Category;
  readonly words: string;
  /** null: the engine of this computer. */
  readonly workflow: OfferedWorkflow | null;
}

/** The preview composite lays clothes over the upper body and cannot fit trousers. */
export function categoriesOf(workflow: OfferedWorkflow | null): readonly Category[] {
  return workflow === null ? ["auto", "top", "dress"] : ["auto", "top", "bottom", "dress"];
}

export function outfitRequest({ person, garment, mask, category, words, workflow }: Wish): OutfitRequest {
  const isKnown = categoriesOf(workflow).includes(category);
  return {
    kind: "outfit_change",
    ...(workflow === null ? { engine: "local" as const } : { workflow: workflow.name }),
    params: {
      category: isKnown ? category : "auto",
      consent: true,
      ...(words === "" ? {} : { prompt: words }),
    },
    inputs: { person, garment, ...(mask === null ? {} : { mask }) },
  };
}
