"use client";
import { Ban, CircleAlert, ImageOff } from "lucide-react";
import { useTranslations } from "next-intl";
import Link from "next/link";
import { memo, type ReactNode } from "react";
import type { BatchPlace } from "@atelier/server/batches";
import type { JobView } from "@atelier/server/jobs";
import { useJobFailureText, useJobNow } from "../jobs/text.ts";
import { hasEnded } from "../live/store.ts";
import { Picture } from "../pictures/picture.tsx";
import { BorderProgress } from "../ui/progress.tsx";
import { cx } from "../ui/button.tsx";
import { statusOf } from "./batch.ts";

interface CellProps {
  readonly place: BatchPlace;
  /** What the cell is, for those who do not see where it stands. */
  readonly name: string;
  readonly isOpen: boolean;
  readonly onOpen: (imageId: string) => void;
}

/** Square, as pictures are: round corners would cut those pictures only that fill their cell. */
const frame =
  "relative flex size-full items-center justify-center overflow-hidden bg-well -outline-offset-2 [&_rect]:[rx:0]";

function CellState({ children }: { readonly children: ReactNode }) {
  return (
    <span className="flex flex-col items-center gap-1 px-2 text-center text-xs text-quiet [&_svg]:size-5">
      {children}
    </span>
  );
}

/** What a job that waits or runs shows of itself. */
function RunningCell({ job }: { readonly job: JobView }) {
  const t = useTranslations("batches");
  const { text, progress, preview } = useJobNow(job);
  return (
    <>
      {preview === null ? null : (
        <img src={preview} alt="" className="absolute inset-0 size-full object-contain" />
      )}
      {job.status === "processing" ? <BorderProgress value={progress} label={t("progress")} /> : null}
      <CellState>
        <span
          className={cx("tabular", preview !== null && "rounded-control bg-black/70 px-2 py-0.5 text-white")}
        >
          {progress === null ? text : `${Math.round(progress * 100)} %`}
        </span>
      </CellState>
    </>
  );
}

function EndedCell({ job }: { readonly job: JobView }) {
  const t = useTranslations("batches");
  const textOf = useJobFailureText();
  if (job.status === "failed" && job.error)
    return (
      <CellState>
        <CircleAlert className="text-fail" aria-hidden />
        <span className="line-clamp-3">{textOf(job.error).title}</span>
      </CellState>
    );
  const [Icon, text] = job.status === "cancelled" ? [Ban, t("cell.cancelled")] : [ImageOff, t("cell.gone")];
  return (
    <CellState>
      <Icon aria-hidden />
      {text}
    </CellState>
  );
}

/** Over a picture with which its place has not come to its end. */
function StepsMark({ place }: { readonly place: BatchPlace }) {
  const t = useTranslations("batches");
  const { steps } = place;
  if (steps === null || statusOf(place) === "completed") return null;
  const text =
    steps.stopped === null ? t("step", { number: steps.begun + 2, count: steps.count + 1 }) : t("stopped");
  return (
    <span
      title={steps.stopped?.message}
      className="absolute bottom-1.5 inset-s-1.5 rounded-control bg-black/70 px-2 py-0.5 text-xs text-white"
    >
      {text}
    </span>
  );
}

/** One place: its picture opens beside what it was made from, all else leads to its job. */
export const Cell = memo(function Cell({ place, name, isOpen, onOpen }: CellProps) {
  const { job } = place;
  const t = useTranslations("batches");
  if (job === null)
    return (
      <div className={frame}>
        <CellState>
          <ImageOff aria-hidden />
          {t("cell.removed")}
        </CellState>
      </div>
    );
  const [output] = job.status === "completed" ? job.outputs : [];
  if (output === undefined)
    return (
      <Link
        href={`/jobs/${job.id}`}
        aria-label={t("openJob", { name })}
        className={cx(frame, "hover:bg-hover")}
      >
        {hasEnded(job) ? <EndedCell job={job} /> : <RunningCell job={job} />}
      </Link>
    );
  const { imageId, thumbhash } = output;
  return (
    <button
      type="button"
      data-tile={imageId}
      aria-label={t("open", { name })}
      aria-expanded={isOpen}
      onClick={() => onOpen(imageId)}
      className={frame}
    >
      <Picture
        imageId={imageId}
        variant="preview"
        thumbhash={thumbhash}
        alt=""
        fit="contain"
        className="size-full"
      />
      <StepsMark place={place} />
    </button>
  );
});
