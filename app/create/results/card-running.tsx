"use client";
import type { JobView } from "@atelier/server/jobs";
import { X } from "lucide-react";
import { useTranslations } from "next-intl";
import { useJobNow } from "../../jobs/stage-text.ts";
import { useCancelJob } from "../../jobs/use-job-actions.ts";
import { BorderProgress } from "../../studio/border-progress.tsx";
import { cx } from "../../ui/cx.ts";
import { IconButton } from "../../ui/icon-button.tsx";
import { CardWords } from "./card-words.tsx";

/** A picture that develops in its frame, or waits for its turn. */
export function CardRunning({ job }: { readonly job: JobView }) {
  const t = useTranslations("create");
  const now = useJobNow(job);
  const cancel = useCancelJob(job.id);
  return (
    <div className="relative flex size-full items-center justify-center overflow-hidden rounded-card bg-well">
      {now.preview === null ? null : (
        <img src={now.preview} alt={t("previewAlt")} className="absolute inset-0 size-full object-cover" />
      )}
      {job.status === "processing" ? <BorderProgress value={now.progress} label={t("progress")} /> : null}
      <CardWords job={job} now={now} />
      <IconButton
        label={t("cancel")}
        disabled={job.cancelRequested || cancel.isPending}
        onClick={() => cancel.mutate()}
        className={cx(
          "absolute! top-1.5 right-1.5",
          now.preview !== null && "bg-black/55! text-white! hover:bg-black/80!",
        )}
      >
        <X aria-hidden />
      </IconButton>
    </div>
  );
}
