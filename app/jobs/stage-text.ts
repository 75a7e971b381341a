"use client";
import type { JobView } from "@atelier/server/jobs";
import { useTranslations } from "next-intl";
import { useProgress } from "../live/use-job.ts";

export interface JobNow {
  /** What happens at the moment, in words. */
  readonly text: string;
  /** 0..1; null while the job waits. */
  readonly progress: number | null;
  readonly preview: string | null;
}

/** A job's present state: live progress where there is some, else what its row says. */
export function useJobNow(job: JobView): JobNow {
  const t = useTranslations("jobs");
  const stages = useTranslations("stages");
  const live = useProgress(job.id);
  const preview = live?.preview ?? null;
  if (job.cancelRequested) return { text: t("cancelling"), progress: job.progress, preview };
  const stage = (live?.stage ?? job.stage ?? "") as "reading";
  if (job.status !== "processing") return { text: t(`status.${job.status}`), progress: null, preview };
  return {
    text: stages.has(stage) ? stages(stage) : t("status.processing"),
    progress: Math.max(live?.progress ?? 0, job.progress),
    preview,
  };
}
