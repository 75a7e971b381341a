"use client";
import { Download, Pencil, Shirt } from "lucide-react";
import { useTranslations } from "next-intl";
import Link from "next/link";
import type { JobView } from "@atelier/server/jobs";
import { useBatchActions } from "../batches/batch.ts";
import { useImage } from "../client/queries.ts";
import { downloadUrl } from "../client/urls.ts";
import { useRetryJob } from "../jobs/parts.tsx";
import { canRetryHelp, useJobFailureText } from "../jobs/text.ts";
import { StarButton } from "../pictures/quick-actions.tsx";
import { Button, buttonStyle } from "../ui/button.tsx";
import { studio, useStudio } from "./state.ts";
import type { Pass } from "./try-on.ts";

interface RefusedProps {
  readonly job: JobView;
  /** Of an order of several passes. */
  readonly pass: Pass | null;
}

/** Runs again what failed: the job, or the order from the pass that failed. */
function useAgain(job: JobView) {
  const { order } = useStudio();
  const retry = useRetryJob(job.id, (jobId) => studio.set({ jobId }));
  const ofOrder = useBatchActions(order?.id ?? "").retry;
  return order === null
    ? { run: () => retry.mutate(), isPending: retry.isPending }
    : { run: () => ofOrder.mutate(), isPending: ofOrder.isPending };
}

/** Shown for a failed job: the reason, and what to do. */
export function ResultRefused({ job, pass }: RefusedProps) {
  const t = useTranslations("studio");
  const jobs = useTranslations("jobs");
  const textOf = useJobFailureText();
  const again = useAgain(job);
  const text =
    job.error === null ? { title: jobs("status.cancelled"), advice: t("cancelledText") } : textOf(job.error);
  return (
    <div role="status" className="flex max-w-[42ch] flex-col items-center gap-2 p-6 text-center">
      <p className="font-serif text-lg">{text.title}</p>
      <p className="text-sm text-quiet">{text.advice}</p>
      {pass !== null && pass.number > 1 ? (
        <p className="text-sm text-quiet">
          {t("pieces.stopped", { number: pass.number, count: pass.count })}
        </p>
      ) : null}
      {job.error !== null && !canRetryHelp(job.error.code) ? null : (
        <Button size="small" className="mt-3" disabled={again.isPending} onClick={again.run}>
          {t("retry")}
        </Button>
      )}
    </div>
  );
}

interface Props {
  readonly job: JobView;
  /** The result was made from the current inputs, so the next step is another garment. */
  readonly isCurrent: boolean;
}

/** Buttons under a finished result. */
export function ResultActions({ job, isCurrent }: Props) {
  const t = useTranslations("studio");
  const imageId = job.outputs[0]?.imageId;
  const { data: image } = useImage(imageId ?? null);
  if (imageId === undefined) return null;
  return (
    <div role="group" aria-label={t("resultActions")} className="flex flex-col gap-3">
      <div className="flex items-center gap-2">
        <a href={downloadUrl(imageId)} download className={buttonStyle("plain", "small")}>
          <Download aria-hidden />
          {t("download")}
        </a>
        <Link href={`/edit/${imageId}`} className={buttonStyle("plain", "small")}>
          <Pencil aria-hidden />
          {t("edit")}
        </Link>
        <span className="ms-auto flex">
          <StarButton id={imageId} starred={image?.starred ?? false} />
        </span>
      </div>
      <Button
        look={isCurrent ? "primary" : "plain"}
        size={isCurrent ? "large" : "medium"}
        onClick={() => studio.set({ garmentId: null, more: [], jobId: null })}
      >
        <Shirt aria-hidden />
        {t("tryAnother")}
      </Button>
    </div>
  );
}
