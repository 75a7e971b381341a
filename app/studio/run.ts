"use client";
import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useState } from "react";
import type { JobView } from "@atelier/server/jobs";
import { failureOf, useFailureToast } from "../client/failures.ts";
import { type OfferedWorkflow, useCapability, useImage } from "../client/queries.ts";
import { useSubmit } from "../client/submit.ts";
import { useOutfitEngine } from "./engine.tsx";
import { categoriesOf, type Category, outfitRequest, personMask, studio, usePersonMask } from "./state.ts";

export interface Table {
  readonly personId: string | null;
  readonly garmentId: string | null;
  readonly category: Category;
  /** null: the engine of this computer, called `name`. */
  readonly chosen: OfferedWorkflow | null;
  readonly name: string;
  readonly words: string;
  /** What the marks were sent as; null when they were not, undefined where no marks go along. */
  readonly maskId: string | null | undefined;
}

type Asked = Pick<JobView, "inputs" | "params" | "workflow" | "engine">;

/** Whether a job was about exactly what lies on the table. */
export function isAbout({ inputs, params, workflow, engine }: Asked, table: Table): boolean {
  const inputOf = (role: string) => inputs.find((input) => input.role === role)?.imageId;
  const category = categoriesOf(table.chosen).includes(table.category) ? table.category : "auto";
  return (
    inputOf("person") === table.personId &&
    inputOf("garment") === table.garmentId &&
    inputOf("mask") === table.maskId &&
    params.category === category &&
    (workflow ?? engine) === table.name &&
    (params.prompt ?? "") === table.words
  );
}

/** The painted mask of the person as an id; null where none goes along. */
function useMaskId(personId: string | null) {
  const { data: person } = useImage(personId);
  const { takesMask } = useOutfitEngine(personId);
  const { isPainted } = usePersonMask(personId);
  return useCallback(
    async () => (takesMask && isPainted && person !== undefined ? personMask.send(person) : null),
    [isPainted, person, takesMask],
  );
}

/** Perhaps it was the marks that were refused, or they are gone; a lost answer repeats the very same request. */
function forgetRefusedMask(error: unknown): void {
  if (failureOf(error).code !== "offline") personMask.forgetSent();
}

/** Starts the change of outfit, once everything it needs is there. */
export function useRun(personId: string | null, garmentId: string | null) {
  const queries = useQueryClient();
  const showFailure = useFailureToast();
  const [missedFor, setMissedFor] = useState<string | null>(null);
  const [isSending, setSending] = useState(false);
  const isAvailable = useCapability("outfit_change")?.available ?? true;
  const { chosen, isKnown, lacksMask, words } = useOutfitEngine(personId);
  const readMask = useMaskId(personId);
  const { mutate, isPending } = useSubmit((jobId) => {
    studio.set({ jobId });
    void queries.invalidateQueries({ queryKey: ["recent-inputs"] });
  });
  const isBusy = isPending || isSending;

  const run = useCallback(() => {
    if (personId === null || garmentId === null || isBusy) return;
    const { category, consentedIds } = studio.get();
    if (!consentedIds.includes(personId)) {
      setMissedFor(personId);
      return;
    }
    const wish = { person: personId, garment: garmentId, category, words, workflow: chosen };
    setSending(true);
    readMask()
      .then((mask) => mutate(outfitRequest({ ...wish, mask }), { onError: forgetRefusedMask }), showFailure)
      .finally(() => setSending(false));
  }, [chosen, garmentId, isBusy, mutate, personId, readMask, showFailure, words]);

  return {
    run,
    canRun: personId !== null && garmentId !== null && isAvailable && isKnown && !lacksMask,
    isSubmitting: isBusy,
    isConsentMissed: missedFor !== null && missedFor === personId,
  };
}
