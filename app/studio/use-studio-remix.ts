"use client";
import type { JobView } from "@atelier/server/jobs";
import { useTranslations } from "next-intl";
import { useCallback } from "react";
import { useRemix } from "../client/remix.ts";
import { localChoice } from "./engine/choose-outfit-engine.ts";
import { toastWithUndo } from "../ui/toasts.ts";
import { type Category, studio } from "./studio-store.ts";

const categories: readonly Category[] = ["auto", "top", "bottom", "dress"];

function layOut({ inputs, params, workflow }: Pick<JobView, "inputs" | "params" | "workflow">): void {
  const inputOf = (role: string) => inputs.find((input) => input.role === role)?.imageId ?? null;
  const { category, prompt } = params;
  studio.set({
    personId: inputOf("person"),
    garmentId: inputOf("garment"),
    category: categories.find((known) => known === category) ?? "auto",
    engine: workflow ?? localChoice,
    prompt: typeof prompt === "string" ? prompt : "",
    jobId: null,
  });
}

/** Lays on the table what the picture was made from that the address names; what lay there can be had back. */
export function useStudioRemix(): void {
  const t = useTranslations("studio");
  const take = useCallback(
    (job: Pick<JobView, "inputs" | "params" | "workflow">) => {
      const former = studio.get();
      layOut(job);
      const isMarked = job.inputs.some(({ role }) => role === "mask");
      toastWithUndo({
        title: t(isMarked ? "remixedMarks" : "remixed"),
        undoLabel: t("undo"),
        onUndo: () => studio.set(former),
      });
    },
    [t],
  );
  useRemix(take);
}
