"use client";
import { useTranslations } from "next-intl";
import { useWorkflows } from "../../client/cloud.ts";
import { useCapabilities, useCapability } from "../../client/queries.ts";
import { useBatchEstimate } from "../../client/submit/batch.ts";
import { findForReferences, lackOfReferences, mostReferences } from "../modes/change.tsx";
import { useUpscaleByFour } from "../modes/enhance.tsx";
import { lackOf, type Offers, type Recipe, severalRequest, type Step } from "./recipe.ts";

const kinds = {
  background: "remove_background",
  change: "edit",
  adjust: "adjust",
  crop: "crop",
  expand: "expand",
} as const;
const kindOf = (step: Step) => {
  if (step.mode === "enhance") return step.settings.what === "faces" ? "restore_faces" : "upscale";
  return kinds[step.mode];
};

/** Why a step cannot run now, or what is missing in it; null when nothing is. */
function useObstacles(recipe: Recipe, offers: Offers): readonly (string | null)[] {
  const t = useTranslations("edit");
  const most = mostReferences(useWorkflows("edit"));
  const capabilities = {
    remove_background: useCapability("remove_background"),
    edit: useCapability("edit"),
    adjust: useCapability("adjust"),
    crop: useCapability("crop"),
    expand: useCapability("expand"),
    upscale: useCapability("upscale"),
    restore_faces: useCapability("restore_faces"),
  };
  const lacks = {
    prompt: t("modes.promptMissing"),
    picture: t("background.pictureMissing"),
    change: t("modes.adjust.missing"),
  };
  return recipe.map((step) => {
    const capability = capabilities[kindOf(step)];
    if (capability?.available === false) return capability.reason ?? t("modes.none");
    if (step.mode === "change") {
      const count = step.settings.referenceIds.length;
      if (offers.changeWith(count) === undefined) return lackOfReferences(t, { count, most });
    }
    const lack = lackOf(step);
    return lack === null ? null : lacks[lack];
  });
}

interface Chosen {
  readonly imageIds: readonly string[];
  readonly recipe: Recipe;
}

/** What is ordered for the pictures; why it cannot be yet, and what it would cost. */
export function useOrder({ imageIds, recipe }: Chosen) {
  const t = useTranslations("several");
  const modes = useTranslations("edit.modes");
  const byFour = useUpscaleByFour();
  const workflows = useWorkflows("edit");
  const offers = { changeWith: (count: number) => findForReferences(workflows, count), byFour };
  const obstacles = useObstacles(recipe, offers);
  const most = useCapabilities()?.limits.maxBatchJobs ?? Infinity;
  const names = recipe.map(({ mode }) => modes(`${mode}.name`));
  const title = t("batch", { steps: names.join(" → "), count: imageIds.length });
  const isTooMany = imageIds.length > most;
  const isReady = !isTooMany && obstacles.every((obstacle) => obstacle === null);
  const ordered = { imageIds, recipe, title, offers };
  const answer = useBatchEstimate(isReady ? severalRequest({ ...ordered, isQuote: true }) : null);
  const input = isReady ? severalRequest({ ...ordered, isQuote: false }) : null;
  const refusals = new Map(
    (answer?.refused ?? []).flatMap(({ position, message }) => {
      const id = imageIds[position];
      return id === undefined ? [] : [[id, message] as const];
    }),
  );
  return { input, answer, refusals, obstacles, canByFour: byFour.isPossible, limit: isTooMany ? most : null };
}
