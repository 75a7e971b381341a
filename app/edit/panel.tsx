"use client";
import type { JobView } from "@atelier/server/jobs";
import { useTranslations } from "next-intl";
import { useJobFailureText } from "../jobs/use-job-failure-text.ts";
import { useCancelJob, useRetryJob } from "../jobs/use-job-actions.ts";
import { JobStateLine } from "../jobs/job-state-line.tsx";
import { retryHelps } from "../jobs/retry-helps.ts";
import { hasEnded } from "../live/live-state.ts";
import { Button } from "../ui/button.tsx";
import { shownKind } from "../jobs/shown-kind.ts";

interface Props {
  readonly job: JobView;
  readonly onRetried: (jobId: string) => void;
}

/** The job of this session: how far it is, or why there is no result. */
export function EditJob({ job, onRetried }: Props) {
  const t = useTranslations("jobs");
  const textOf = useJobFailureText();
  const cancel = useCancelJob(job.id);
  const retry = useRetryJob(job.id, onRetried);
  if (job.status === "completed") return null;
  return (
    <section
      aria-label={t(`kinds.${shownKind(job)}`)}
      className="flex flex-col gap-2 rounded-card border border-line p-3"
    >
      <p className="text-xs font-medium">{t(`kinds.${shownKind(job)}`)}</p>
      <JobStateLine job={job} />
      {job.error === null ? null : <p className="text-xs text-quiet">{textOf(job.error).advice}</p>}
      {hasEnded(job) ? null : (
        <Button
          size="small"
          look="quiet"
          disabled={job.cancelRequested || cancel.isPending}
          onClick={() => cancel.mutate()}
        >
          {t("cancel")}
        </Button>
      )}
      {job.status === "failed" && job.error !== null && retryHelps(job.error.code) ? (
        <Button size="small" disabled={retry.isPending} onClick={() => retry.mutate()}>
          {t("retry")}
        </Button>
      ) : null}
    </section>
  );
}
