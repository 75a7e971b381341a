"use client";
import { useRouter } from "next/navigation";
import type { BatchInput } from "@atelier/server/batches";
import { useSubmitBatch } from "../client/submit/batch.ts";
import type { OfferedWorkflow } from "../client/queries.ts";
import { choiceOf } from "../client/submit/job.ts";
import { garmentRoles, type Piece, planOutfit } from "../studio/outfit.ts";
import { categoriesOf } from "../studio/state.ts";
import { type Category, categoryOfGarment, useStateConsent, type WardrobeItem } from "../client/wardrobe.ts";

export const lookbookLimits = { persons: 8, garments: 12 } as const;

type Garment = Pick<WardrobeItem, "imageId" | "category">;
type Engine = OfferedWorkflow | null;

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
  /** The garments of each look, which are worn together. */
  readonly looks: readonly (readonly Garment[])[];
  readonly engine: Engine;
}

/** The pieces of a look with what they are ordered as; null where the engine cannot do one of them. */
function piecesOf(look: readonly Garment[], engine: Engine): readonly Piece[] | null {
  const pieces = look.flatMap((garment) => {
    const category = categoryFor(garment, engine);
    return category === null ? [] : [{ imageId: garment.imageId, category }];
  });
  return pieces.length < look.length ? null : pieces;
}

/**
 * Each person in each look as one batch, persons from top to bottom; null while there is neither or what the engine cannot do.
 * Looks are columns of a grid; one of several pieces is one run or passes that follow each other.
 */
export function lookbookRequest({ title, personIds, looks, engine }: Chosen): BatchInput | null {
  const outfits = looks.flatMap((look) => piecesOf(look, engine) ?? []);
  const [person] = personIds;
  const [piece] = outfits;
  if (person === undefined || piece === undefined || outfits.length < looks.flat().length) return null;
  if (outfits.length > looks.length)
    return { title, jobs: jobsOf(personIds, looks, engine), axes: axesOf(personIds, looks) };
  return {
    title,
    base: {
      kind: "outfit_change",
      ...(engine === null ? { engine: "local" } : choiceOf(engine)),
      params: { category: piece.category },
      inputs: { person, garment: piece.imageId },
    },
    axes: [
      { param: "inputs.person", values: [...personIds] },
      {
        param: "inputs.garment",
        values: outfits.map(({ imageId }) => imageId),
        along: [{ param: "category", values: outfits.map(({ category }) => category) }],
      },
    ],
  };
}

/** Persons from top to bottom, looks from left to right, each named by its pieces. */
function axesOf(personIds: readonly string[], looks: Chosen["looks"]) {
  const [garment, ...further] = garmentRoles.map((role, at) => ({
    param: `inputs.${role}`,
    values: looks.map((look) => look[at]?.imageId ?? ""),
  }));
  const along = further.filter(({ values }) => values.some((value) => value !== ""));
  return [{ param: "inputs.person", values: [...personIds] }, ...(garment ? [{ ...garment, along }] : [])];
}

function jobsOf(personIds: readonly string[], looks: Chosen["looks"], engine: Engine) {
  return personIds.flatMap((person) =>
    looks.flatMap((look) => {
      const pieces = piecesOf(look, engine) ?? [];
      const plan = planOutfit({ person, pieces, mask: null, prompt: "", workflow: engine });
      if (plan === null) return [];
      if (plan.way === "run") return [plan.request];
      return "jobs" in plan.input ? plan.input.jobs : [];
    }),
  );
}

/** States the new consents, starts the batch and opens its page. */
export function useStart() {
  const router = useRouter();
  const submit = useSubmitBatch();
  const { mutateAsync: state, isPending: isStating } = useStateConsent();
  const start = (wanted: Parameters<typeof submit.mutate>[0], imageIds: readonly string[]) => {
    // A failure was told by the statement itself.
    Promise.all(imageIds.map((imageId) => state({ imageId, isStated: true }))).then(
      () => submit.mutate(wanted, { onSuccess: ({ id }) => router.push(`/batches/${id}`) }),
      () => undefined,
    );
  };
  return { start, isBusy: isStating || submit.isPending };
}
