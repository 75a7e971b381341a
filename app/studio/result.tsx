"use client";
import type { JobView } from "@atelier/server/jobs";
import { useTranslations } from "next-intl";
import { imageUrl } from "../data/image-url.ts";
import { formatSeconds } from "../jobs/duration.ts";
import { useJobNow } from "../jobs/stage-text.ts";
import { useElapsedSeconds } from "../jobs/use-elapsed.ts";
import { useCancelJob } from "../jobs/use-job-actions.ts";
import { useWaitingText } from "../jobs/waiting/use-waiting-text.ts";
import { Button } from "../ui/button.tsx";
import { cx } from "../ui/cx.ts";
import { BorderProgress } from "./border-progress.tsx";

/** A job under way: its stage in words, its progress along the frame. */
export function ResultRunning({ job }: { readonly job: JobView }) {
  const t = useTranslations("studio");
  const now = useJobNow(job);
  const waiting = useWaitingText(job);
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
          className={cx(
            "absolute inset-2.5 size-[calc(100%-20px)] object-contain transition-[filter] duration-200",
            now.preview === null && "opacity-60 blur-[6px] saturate-50",
          )}
        />
      )}
      <BorderProgress value={now.progress} label={t("progress")} />
      <div
        className={cx(
          "relative flex min-w-52 flex-col items-center gap-1 rounded-card bg-raised px-5 py-4 shadow-float",
          // What develops is not hidden.
          now.preview !== null && "mt-auto mb-3 bg-raised/92 py-2.5",
        )}
      >
        <p role="status" className="text-sm font-medium">
          {now.text}
        </p>
        <p className="tabular text-xs text-quiet">
          {now.progress === null ? null : `${Math.round(now.progress * 100)} % · `}
          {formatSeconds(seconds)}
        </p>
        {waiting === null ? null : (
          <p className="max-w-[28ch] text-center text-xs text-quiet">
            {[waiting.place, waiting.start].filter((part) => part !== null).join(" · ")}
          </p>
        )}
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
