"use client";
import { BatchEstimateLine } from "../batches/estimate-line.tsx";
import { useBatchEstimate } from "../client/submit/batch.ts";
import { useEstimate } from "../client/submit/job.ts";
import { OfferLine } from "../jobs/offer-line.tsx";
import { useOutfitEngine } from "./engine.tsx";
import { useStudio } from "./state.ts";
import { usePlan } from "./try-on.ts";

/** Where it would run, when, for how long and for which price. */
export function Expected() {
  const { personId, garmentId } = useStudio();
  const { takesMask } = useOutfitEngine(personId);
  const plan = usePlan(personId, garmentId);
  // The mask does not affect the estimate, but a workflow that requires a mask refuses an estimate without it.
  const answer = useEstimate(plan?.way === "run" && !takesMask ? plan.request : null);
  const ofOrder = useBatchEstimate(plan?.way === "passes" ? plan.input : null);
  return ofOrder === undefined ? (
    <OfferLine answer={answer} />
  ) : (
    <BatchEstimateLine answer={ofOrder} count={1} />
  );
}
