"use client";
import { useQueryClient } from "@tanstack/react-query";
import { useRouter } from "next/navigation";
import { useState } from "react";
import type { BatchInput } from "@atelier/server/batches";
import { useSubmitBatch } from "../batches/submit-batch.ts";
import { api } from "../client/api.ts";
import { useFailureToast } from "../client/failures.ts";
import { keys, type OfferedWorkflow } from "../client/queries.ts";
import { choiceOf } from "../client/submit.ts";
import { categoriesOf, type Category } from "../studio/state.ts";
import { categoryOfGarment, type WardrobeItem } from "../wardrobe/items.ts";

export const lookbookLimits = { persons: 8, garments: 12 } as const;

type Garment = Pick<WardrobeItem, "imageId" | "category">;
type Engine = Pick<OfferedWorkflow, "name" | "cloud" | "params"> | null;

/** The category that a garment is ordered with; null where the engine cannot do it. A garment without one is for the engine to judge. */
export function categoryFor(garment: Garment, engine: Engine): Category | null {
  const offered = categoriesOf(engine);
  if (garment.category === null) return offered.includes("auto") ? "auto" : (offered[0] ?? null);
  const wanted = categoryOfGarment[garment.category];
  if (wanted === null) return null;
  if (offered.includes(wanted)) return wanted;
  // An engine without categories of its own finds out by itself.
  return engine !== null && offered.length === 1 && offered[0] === "auto" ? "auto" : null;
}

interface Chosen {
  readonly title: string;
  readonly personIds: readonly string[];
  readonly garments: readonly Garment[];
  readonly engine: Engine;
}

/** Each person in each garment as one batch, persons from top to bottom; null while there is neither or what the engine cannot do. */
export function lookbookRequest({ title, personIds, garments, engine }: Chosen): BatchInput | null {
  const categories = garments.map((garment) => categoryFor(garment, engine));
  const possible = categories.filter((category) => category !== null);
  const [person] = personIds;
  const [garment] = garments;
  if (person === undefined || garment === undefined || possible.length < categories.length) return null;
  return {
    title,
    base: {
      kind: "outfit_change",
      ...(engine === null ? { engine: "local" } : choiceOf(engine)),
      params: { consent: true, category: possible[0] },
      inputs: { person, garment: garment.imageId },
    },
    axes: [
      { param: "inputs.person", values: [...personIds] },
      {
        param: "inputs.garment",
        values: garments.map(({ imageId }) => imageId),
        along: [{ param: "category", values: possible }],
      },
    ],
  };
}

/** States the new consents, starts the batch and opens its page. */
export function useStart() {
  const router = useRouter();
  const queries = useQueryClient();
  const showFailure = useFailureToast();
  const submit = useSubmitBatch(({ id }) => router.push(`/batches/${id}`));
  const [isStating, setStating] = useState(false);
  const start = (wanted: Parameters<typeof submit.mutate>[0], imageIds: readonly string[]) => {
    setStating(true);
    Promise.all(imageIds.map((imageId) => api.wardrobe.stateConsent.mutate({ imageId })))
      .then(() => submit.mutate(wanted), showFailure)
      .finally(() => {
        setStating(false);
        void queries.invalidateQueries({ queryKey: keys.wardrobe });
        for (const imageId of imageIds) void queries.invalidateQueries({ queryKey: keys.consent(imageId) });
      });
  };
  return { start, isBusy: isStating || submit.isPending };
}
