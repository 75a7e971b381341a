"use client";
import type { JobView } from "@atelier/server/jobs";
import { useRemix } from "../data/use-remix.ts";
import { localChoice } from "./engine/choose-outfit-engine.ts";
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

/** Lays on the table what the picture was made from that the address names. */
export function useStudioRemix(): void {
  useRemix(layOut);
}
