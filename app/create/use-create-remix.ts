"use client";
import type { JobView } from "@atelier/server/jobs";
import { useCallback } from "react";
import { useRemix } from "../data/use-remix.ts";
import type { OfferedWorkflow } from "../data/use-workflows.ts";
import { createForm } from "./form/form-store.ts";
import { formOfJob } from "./form/form-of-job.ts";

/** Fills the form as it was for the picture that the address names. */
export function useCreateRemix(offered: readonly OfferedWorkflow[] | undefined): void {
  const take = useCallback(
    (job: Pick<JobView, "params" | "workflow">) => {
      if (offered !== undefined) createForm.set(formOfJob(job, createForm.get(), offered));
    },
    [offered],
  );
  useRemix(offered === undefined ? null : take);
}
