"use client";
import type { JobView } from "@atelier/server/jobs";
import { useTranslations } from "next-intl";
import { useCallback } from "react";
import { useRemix } from "../client/remix.ts";
import type { OfferedWorkflow } from "../data/use-workflows.ts";
import { toastWithUndo } from "../ui/toasts.ts";
import { createForm } from "./form/form-store.ts";
import { formOfJob } from "./form/form-of-job.ts";

/** Fills the form as it was for the picture that the address names. */
export function useCreateRemix(offered: readonly OfferedWorkflow[] | undefined): void {
  const t = useTranslations("create");
  const take = useCallback(
    (job: Pick<JobView, "params" | "workflow">) => {
      if (offered === undefined) return;
      const former = createForm.get();
      createForm.set(formOfJob(job, former, offered));
      if (former.prompt.trim() === "") return;
      toastWithUndo({ title: t("remixed"), undoLabel: t("undo"), onUndo: () => createForm.set(former) });
    },
    [offered, t],
  );
  useRemix(offered === undefined ? null : take);
}
