"use client";
import { useSearchParams } from "next/navigation";
import { useEffect, useRef } from "react";
import { useRemixJob } from "../data/use-remix-job.ts";
import type { OfferedWorkflow } from "../data/use-workflows.ts";
import { createForm } from "./form/form-store.ts";
import { formOfJob } from "./form/form-of-job.ts";

/** Fills the form as it was for the picture that the address names, once. */
export function useRemix(offered: readonly OfferedWorkflow[] | undefined): void {
  const imageId = useSearchParams().get("remix");
  const { job } = useRemixJob(imageId);
  const takenId = useRef<string | null>(null);
  useEffect(() => {
    if (imageId === null || job === undefined || offered === undefined || takenId.current === imageId) return;
    takenId.current = imageId;
    createForm.set(formOfJob(job, createForm.get(), offered));
    window.history.replaceState(null, "", window.location.pathname);
  }, [imageId, job, offered]);
}
