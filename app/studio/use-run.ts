"use client";
import { useCallback, useState } from "react";
import { useQueryClient } from "@tanstack/react-query";
import { useCapability } from "../data/use-capabilities.ts";
import { useSubmit } from "../data/use-submit.ts";
import { studio } from "./studio-store.ts";

/** Starts the change of outfit, once everything it needs is there. */
export function useRun(personId: string | null, garmentId: string | null) {
  const queries = useQueryClient();
  const [missedFor, setMissedFor] = useState<string | null>(null);
  const isAvailable = useCapability("outfit_change")?.available ?? true;
  const { mutate, isPending } = useSubmit((jobId) => {
    studio.set({ jobId });
    void queries.invalidateQueries({ queryKey: ["recent-inputs"] });
  });

  const run = useCallback(() => {
    if (personId === null || garmentId === null || isPending) return;
    const { category, consentedIds } = studio.get();
    if (!consentedIds.includes(personId)) {
      setMissedFor(personId);
      return;
    }
    mutate({
      kind: "outfit_change",
      params: { category, consent: true },
      inputs: { person: personId, garment: garmentId },
    });
  }, [garmentId, isPending, mutate, personId]);

  return {
    run,
    canRun: personId !== null && garmentId !== null && isAvailable,
    isSubmitting: isPending,
    isConsentMissed: missedFor !== null && missedFor === personId,
  };
}
