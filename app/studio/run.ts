"use client";
import { useCallback, useState } from "react";
import { useQueryClient } from "@tanstack/react-query";
import { useCapability } from "../client/queries.ts";
import { failureOf } from "../client/failures.ts";
import { useFailureToast } from "../data/use-failure-toast.ts";
import { useImage } from "../data/use-image.ts";
import { useSubmit } from "../data/use-submit.ts";
import { useOutfitEngine } from "./engine/use-outfit-engine.ts";
import { personMask } from "./mask/person-mask.ts";
import { usePersonMask } from "./mask/use-person-mask.ts";
import { outfitRequest } from "./outfit-request.ts";
import { studio } from "./studio-store.ts";

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
