"use client";
import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useState } from "react";
import type { JobView } from "@atelier/server/jobs";
import { failureOf, NotWanted, useFailureToast } from "../client/failures.ts";
import { keys, type OfferedWorkflow, useCapability, useImage } from "../client/queries.ts";
import { agreedToChoice, choiceNameOf, useSubmit } from "../client/submit.ts";
import { useConsent } from "../wardrobe/items.ts";
import { useOutfitEngine } from "./engine.tsx";
import { categoryFor, type Category, outfitRequest, personMask, studio, usePersonMask } from "./state.ts";

export interface StudioInputs {
  readonly personId: string | null;
  readonly garmentId: string | null;
  readonly category: Category;
  /** null: the local engine. */
  readonly chosen: OfferedWorkflow | null;
  /** Name of the workflow, or of the engine without workflows. */
  readonly name: string;
  readonly prompt: string;
  /** The id of the uploaded mask; null before its upload, undefined when no mask is used. */
  readonly maskId: string | null | undefined;
}

type JobInputs = Pick<JobView, "inputs" | "params" | "workflow" | "model" | "engine">;

/** Whether a job used exactly these inputs and settings. */
export function usedInputs({ inputs, params, engine, ...job }: JobInputs, current: StudioInputs): boolean {
  const inputOf = (role: string) => inputs.find((input) => input.role === role)?.imageId;
  const category = categoryFor(current.chosen, current.category);
  return (
    inputOf("person") === current.personId &&
    inputOf("garment") === current.garmentId &&
    inputOf("mask") === current.maskId &&
    params.category === category &&
    (choiceNameOf(job) ?? engine) === current.name &&
    (params.prompt ?? "") === current.prompt
  );
}

/** A function that uploads the painted mask once and returns its image id; null when no mask is sent. */
function useMaskId(personId: string | null) {
  const { data: person } = useImage(personId);
  const { takesMask } = useOutfitEngine(personId);
  const { isPainted } = usePersonMask(personId);
  return useCallback(
    async () => (takesMask && isPainted && person !== undefined ? personMask.send(person) : null),
    [isPainted, person, takesMask],
  );
}

/** The stored mask may be refused or deleted, so forget it; after a lost answer the same request must be sent again. */
function forgetRefusedMask(error: unknown): void {
  if (error instanceof NotWanted) return;
  if (failureOf(error).code !== "offline") personMask.forgetSent();
}

/** Submits the outfit change when all inputs are present. */
export function useRun(personId: string | null, garmentId: string | null) {
  const queries = useQueryClient();
  const showFailure = useFailureToast();
  const [missedFor, setMissedFor] = useState<string | null>(null);
  const [isSending, setSending] = useState(false);
  const isAvailable = useCapability("outfit_change")?.available ?? true;
  const { chosen, isKnown, lacksMask, prompt } = useOutfitEngine(personId);
  const isStated = useConsent(personId) === true;
  const readMask = useMaskId(personId);
  const { mutate, isPending } = useSubmit((jobId) => {
    studio.set({ jobId });
    void queries.invalidateQueries({ queryKey: ["recent-inputs"] });
    void queries.invalidateQueries({ queryKey: keys.consent(personId ?? "") });
  });
  const isBusy = isPending || isSending;

  const run = useCallback(() => {
    if (personId === null || garmentId === null || isBusy) return;
    const { category, consentedIds } = studio.get();
    if (!isStated && !consentedIds.includes(personId)) {
      setMissedFor(personId);
      return;
    }
    const input = { person: personId, garment: garmentId, category, prompt, workflow: chosen };
    setSending(true);
    readMask()
      .then((mask) => {
        const wanted = { request: outfitRequest({ ...input, mask }), shown: agreedToChoice(chosen) };
        mutate(wanted, { onError: forgetRefusedMask });
      }, showFailure)
      .finally(() => setSending(false));
  }, [chosen, garmentId, isBusy, isStated, mutate, personId, readMask, showFailure, prompt]);

  return {
    run,
    canRun: personId !== null && garmentId !== null && isAvailable && isKnown && !lacksMask,
    isSubmitting: isBusy,
    isConsentMissed: missedFor !== null && missedFor === personId,
  };
}
