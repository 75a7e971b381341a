"use client";
import type { JobView } from "@atelier/server/jobs";
import { CircleAlert, X } from "lucide-react";
import { useTranslations } from "next-intl";
import { retryHelps } from "../../jobs/retry-helps.ts";
import { useRetryJob } from "../../jobs/use-job-actions.ts";
import { useJobFailureText } from "../../jobs/use-job-failure-text.ts";
import { Button } from "../../ui/button.tsx";
import { IconButton } from "../../ui/icon-button.tsx";

interface Props {
  readonly job: JobView;
  readonly onDismiss: (jobId: string) => void;
}

/** Why there is no picture, and what to do. */
export function CardFailed({ job, onDismiss }: Props) {
  const t = useTranslations("create");
  const textOf = useJobFailureText();
  const retry = useRetryJob(job.id, () => onDismiss(job.id));
  if (job.error === null) return null;
  const { title, advice } = textOf(job.error);
  return (
    <div
      role="alert"
      className="flex size-full flex-col items-center justify-center gap-1.5 overflow-y-auto rounded-card border border-line bg-well p-4 text-center"
    >
      <CircleAlert className="size-5 shrink-0 text-fail" aria-hidden />
      <p className="text-sm font-medium">{title}</p>
      <p className="text-xs text-quiet">{advice}</p>
      {retryHelps(job.error.code) ? (
        <Button size="small" className="mt-2" disabled={retry.isPending} onClick={() => retry.mutate()}>
          {t("retry")}
        </Button>
      ) : null}
      <IconButton
        label={t("dismiss")}
        onClick={() => onDismiss(job.id)}
        className="absolute! top-1.5 right-1.5"
      >
        <X aria-hidden />
      </IconButton>
    </div>
  );
}
