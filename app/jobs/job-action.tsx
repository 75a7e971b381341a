"use client";
import type { JobView } from "@atelier/server/jobs";
import { RotateCcw, X } from "lucide-react";
import { useTranslations } from "next-intl";
import { hasEnded } from "../live/live-state.ts";
import { IconButton } from "../ui/icon-button.tsx";
import { retryHelps } from "./retry-helps.ts";
import { useCancelJob, useRetryJob } from "./use-job-actions.ts";
import { shownKind } from "./shown-kind.ts";

/** Cancel while it runs; retry when that can help. */
export function JobAction({ job }: { readonly job: JobView }) {
  const t = useTranslations("jobs");
  const cancel = useCancelJob(job.id);
  const retry = useRetryJob(job.id);
  const name = t(`kinds.${shownKind(job)}`);
  if (!hasEnded(job)) {
    return (
      <IconButton
        label={t("cancelNamed", { name })}
        disabled={job.cancelRequested || cancel.isPending}
        onClick={() => cancel.mutate()}
      >
        <X aria-hidden />
      </IconButton>
    );
  }
  if (job.status === "completed" || (job.error !== null && !retryHelps(job.error.code))) return null;
  return (
    <IconButton label={t("retryNamed", { name })} disabled={retry.isPending} onClick={() => retry.mutate()}>
      <RotateCcw aria-hidden />
    </IconButton>
  );
}
