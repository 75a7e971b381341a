"use client";
import { useSearchParams } from "next/navigation";
import { useEffect, useRef } from "react";
import { useRemixJob } from "../data/use-remix-job.ts";
import { localChoice } from "./engine/choose-outfit-engine.ts";
import { type Category, studio } from "./studio-store.ts";

const categories: readonly Category[] = ["auto", "top", "bottom", "dress"];

/** Lays on the table what the picture was made from that the address names, once. */
export function useStudioRemix(): void {
  const imageId = useSearchParams().get("remix");
  const { job } = useRemixJob(imageId);
  const takenId = useRef<string | null>(null);
  useEffect(() => {
    if (imageId === null || job === undefined || takenId.current === imageId) return;
    takenId.current = imageId;
    const inputOf = (role: string) => job.inputs.find((input) => input.role === role)?.imageId ?? null;
    const { category, prompt } = job.params;
    studio.set({
      personId: inputOf("person"),
      garmentId: inputOf("garment"),
      category: categories.find((known) => known === category) ?? "auto",
      engine: job.workflow ?? localChoice,
      prompt: typeof prompt === "string" ? prompt : "",
      jobId: null,
    });
    window.history.replaceState(null, "", window.location.pathname);
  }, [imageId, job]);
}
