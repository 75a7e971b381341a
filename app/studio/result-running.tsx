"use client";
import type { JobView } from "@atelier/server/jobs";
import { useTranslations } from "next-intl";
import { imageUrl } from "../data/image-url.ts";
import { countAhead } from "../jobs/ahead.ts";
import { formatSeconds } from "../jobs/duration.ts";
import { useJobNow } from "../jobs/stage-text.ts";
import { useElapsedSeconds } from "../jobs/use-elapsed.ts";
import { useCancelJob } from "../jobs/use-job-actions.ts";
import { useLiveJobs } from "../live/use-live-jobs.ts";
import { Button } from "../ui/button.tsx";
import { BorderProgress } from "./border-progress.tsx";

/** A job under way: its stage in words, its progress along the frame. */
export function ResultRunning({ job }: { readonly job: JobView }) {
  const t = useTranslations("studio");
  const now = useJobNow(job);
  const ahead = countAhead(useLiveJobs(), job);
  const seconds = useElapsedSeconds(job.createdAt, job.endedAt);
  const cancel = useCancelJob(job.id);
  const personId = job.inputs.find((input) => input.role === "person")?.imageId;
  const ground = now.preview ?? (personId === undefined ? null : imageUrl(personId, "preview"));
  return (
    <>
      {ground === null ? null : (
        <img
          src={ground}
          alt=""
          className="absolute inset-2.5 size-[calc(100%-20px)] object-contain opacity-60 blur-[6px] saturate-50 transition-[filter] duration-200"
        />
      )}
      <BorderProgress value={now.progress} label={t("progress")} />
      <div className="relative flex min-w-52 flex-col items-center gap-1 rounded-card bg-raised px-5 py-4 shadow-float">
        <p role="status" className="text-sm font-medium">
          {now.text}
        </p>
        <p className="tabular text-xs text-quiet">
          {now.progress === null ? null : `${Math.round(now.progress * 100)} % · `}
          {formatSeconds(seconds)}
        </p>
        {ahead > 0 && job.status !== "processing" ? (
          <p className="text-xs text-quiet">{t("ahead", { count: ahead })}</p>
        ) : null}
        <Button
          size="small"
          look="quiet"
          className="mt-1"
          disabled={job.cancelRequested || cancel.isPending}
          onClick={() => cancel.mutate()}
        >
          {t("cancel")}
        </Button>
      </div>
    </>
  );
}
