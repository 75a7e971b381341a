"use client";
import type { JobView } from "@atelier/server/jobs";
import { useTranslations } from "next-intl";
import { useJobFailureText } from "../jobs/use-job-failure-text.ts";
import { useRetryJob } from "../jobs/use-job-actions.ts";
import { Button } from "../ui/button.tsx";
import { retryHelps } from "../jobs/retry-helps.ts";
import { studio } from "./studio-store.ts";

/** Why there is no result, calmly, and what to do. */
export function ResultRefused({ job }: { readonly job: JobView }) {
  const t = useTranslations("studio");
  const jobs = useTranslations("jobs");
  const textOf = useJobFailureText();
  const retry = useRetryJob(job.id, (jobId) => studio.set({ jobId }));
  const words =
    job.error === null ? { title: jobs("status.cancelled"), advice: t("cancelledText") } : textOf(job.error);
  return (
    <div role="status" className="flex max-w-[42ch] flex-col items-center gap-2 p-6 text-center">
      <p className="font-serif text-lg">{words.title}</p>
      <p className="text-sm text-quiet">{words.advice}</p>
      {job.error !== null && !retryHelps(job.error.code) ? null : (
        <Button size="small" className="mt-3" disabled={retry.isPending} onClick={() => retry.mutate()}>
          {t("retry")}
        </Button>
      )}
    </div>
  );
}
