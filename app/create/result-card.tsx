"use client";
import { CircleAlert, Download, ImagePlus, Maximize2, Pencil, Repeat2, X } from "lucide-react";
import { useTranslations } from "next-intl";
import { useRouter } from "next/navigation";
import { memo, useState, ViewTransition } from "react";
import type { JobView } from "@atelier/server/jobs";
import { studioNow } from "../client/clock.ts";
import { saveFile } from "../client/save.ts";
import { downloadUrl } from "../client/urls.ts";
import { referenceHref } from "../client/references.ts";
import { useSubmit } from "../client/submit/job.ts";
import { sizeOfJob } from "../jobs/params.ts";
import { DowngradeNote, useCancelJob, useRetryJob } from "../jobs/parts.tsx";
import { type JobNow, canRetryHelp, useJobFailureText, useJobNow } from "../jobs/text.ts";
import { useWaitingText } from "../jobs/waiting-text.ts";
import { hasEnded } from "../live/store.ts";
import { useUpscaleOffer } from "../pictures/quick-actions.tsx";
import { AiBadge, Picture } from "../pictures/picture.tsx";
import { BorderProgress } from "../ui/progress.tsx";
import { Button, cx, IconButton } from "../ui/button.tsx";
import { toastDone } from "../ui/toasts.tsx";

interface CardFailedProps {
  readonly job: JobView;
  readonly onDismiss: (jobId: string) => void;
}

/** The card of a failed job: the reason, and what to do. */
function CardFailed({ job, onDismiss }: CardFailedProps) {
  const t = useTranslations("create");
  const textOf = useJobFailureText();
  const retry = useRetryJob(job.id, () => onDismiss(job.id));
  if (job.error === null) return null;
  const { title, advice } = textOf(job.error);
  return (
    <div
      role="alert"
      className="flex size-full flex-col items-center justify-center gap-1.5 overflow-y-auto rounded-card border border-line bg-well px-9 py-4 text-center"
    >
      <CircleAlert className="size-5 shrink-0 text-fail" aria-hidden />
      <p className="text-sm font-medium">{title}</p>
      <p className="text-xs text-quiet">{advice}</p>
      {canRetryHelp(job.error.code) ? (
        <Button size="small" className="mt-2" disabled={retry.isPending} onClick={() => retry.mutate()}>
          {t("retry")}
        </Button>
      ) : null}
      <IconButton
        label={t("dismiss")}
        onClick={() => onDismiss(job.id)}
        className="absolute! top-1.5 inset-e-1.5"
      >
        <X aria-hidden />
      </IconButton>
    </div>
  );
}

interface CardPictureProps {
  readonly job: JobView;
  readonly isOpen: boolean;
  readonly onOpen: (imageId: string) => void;
}

const freshMs = 5_000;

/** Whether the job ended in the last seconds: only then the picture fades in from its preview. Fixed at mount. */
function useIsFresh({ endedAt }: JobView): boolean {
  const [isFresh] = useState(() => endedAt !== null && studioNow() - Date.parse(endedAt) < freshMs);
  return isFresh;
}

/** The card of a completed job; a click opens the viewer. */
function CardPicture({ job, isOpen, onOpen }: CardPictureProps) {
  const t = useTranslations("create");
  const isFresh = useIsFresh(job);
  const [output] = job.outputs;
  if (output === undefined) return null;
  const { imageId, thumbhash } = output;
  const name = typeof job.params.prompt === "string" ? job.params.prompt : "";
  const picture = (
    <Picture
      imageId={imageId}
      variant="preview"
      thumbhash={thumbhash}
      alt=""
      className={cx("size-full", isFresh && "animate-develop")}
    />
  );
  return (
    <>
      <button
        type="button"
        data-tile={imageId}
        aria-label={t("open", { name })}
        onClick={() => onOpen(imageId)}
        className="relative block size-full overflow-hidden rounded-card bg-well"
      >
        {isOpen ? (
          picture
        ) : (
          <ViewTransition name={`picture-${imageId}`} share="picture" default="none">
            {picture}
          </ViewTransition>
        )}
      </button>
      <span className="pointer-events-none absolute inset-e-1.5 bottom-1.5">
        <AiBadge />
      </span>
    </>
  );
}

interface CardStateProps {
  readonly job: JobView;
  readonly now: JobNow;
}

/** Status and progress as text: in the middle of an empty card, at the lower edge of a preview. */
function CardState({ job, now }: CardStateProps) {
  const waiting = useWaitingText(job);
  const isOver = now.preview !== null;
  const percent = now.progress === null ? null : `${Math.round(now.progress * 100)} %`;
  return (
    <div
      className={cx(
        "tabular flex max-w-[calc(100%-16px)] flex-col items-center text-center text-xs",
        isOver ? "absolute bottom-3 rounded-card bg-black/70 px-3 py-1 text-white" : "relative",
      )}
    >
      <p role="status" className={cx("font-medium", waiting?.isAway && "text-warn")}>
        {waiting?.position ?? now.text}
      </p>
      <p className={cx("empty:hidden", isOver ? "text-white/80" : "text-quiet")}>
        {waiting?.start ?? percent}
      </p>
    </div>
  );
}

/** The card of a job that waits or runs. */
function CardRunning({ job }: { readonly job: JobView }) {
  const t = useTranslations("create");
  const now = useJobNow(job);
  const cancel = useCancelJob(job.id);
  return (
    <div className="relative flex size-full items-center justify-center overflow-hidden rounded-card bg-well">
      {now.preview === null ? null : (
        <img src={now.preview} alt={t("previewAlt")} className="absolute inset-0 size-full object-cover" />
      )}
      {job.status === "processing" ? <BorderProgress value={now.progress} label={t("progress")} /> : null}
      <CardState job={job} now={now} />
      <IconButton
        label={t("cancel")}
        disabled={job.cancelRequested || cancel.isPending}
        onClick={() => cancel.mutate()}
        className={cx(
          "absolute! top-1.5 inset-e-1.5",
          now.preview !== null && "bg-black/55! text-white! hover:bg-black/80!",
        )}
      >
        <X aria-hidden />
      </IconButton>
    </div>
  );
}

/** The viewer has these too, and a narrow card has no room for all in one row. */
const onWideCards = "@max-[172px]:hidden";

/** Buttons under a finished picture: remix, edit, upscale, download. */
function CardActions({ job }: { readonly job: JobView }) {
  const t = useTranslations("create");
  const pictures = useTranslations("pictures");
  const router = useRouter();
  const upscale = useSubmit(() => toastDone(pictures("started")));
  const offer = useUpscaleOffer(sizeOfJob(job));
  const imageId = job.outputs[0]?.imageId;
  if (imageId === undefined) return null;
  return (
    <div role="group" aria-label={t("actions")} className="-ms-2 flex flex-wrap">
      <IconButton label={t("remix")} onClick={() => router.push(`/create?remix=${imageId}`)}>
        <Repeat2 aria-hidden />
      </IconButton>
      <IconButton
        label={pictures("asReference")}
        className={onWideCards}
        onClick={() => router.push(referenceHref([imageId]))}
      >
        <ImagePlus aria-hidden />
      </IconButton>
      <IconButton label={t("edit")} onClick={() => router.push(`/edit/${imageId}`)}>
        <Pencil aria-hidden />
      </IconButton>
      <IconButton
        label={offer.isPossible ? t("upscale", { size: offer.size }) : (offer.reason ?? pictures("noEngine"))}
        disabled={!offer.isPossible || upscale.isPending}
        className={onWideCards}
        onClick={() => upscale.mutate({ request: { kind: "upscale", inputs: { image: imageId } } })}
      >
        <Maximize2 aria-hidden />
      </IconButton>
      <IconButton label={t("download")} onClick={() => saveFile(downloadUrl(imageId))}>
        <Download aria-hidden />
      </IconButton>
    </div>
  );
}

interface ResultCardProps {
  readonly job: JobView;
  readonly widthPx: number;
  readonly heightPx: number;
  /** The viewer shows this picture now. */
  readonly isOpen: boolean;
  readonly onOpen: (imageId: string) => void;
  readonly onDismiss: (jobId: string) => void;
}

/** One job of the page with its picture. `memo`: renders again only when this job changes. */
export const ResultCard = memo(function ResultCard(props: ResultCardProps) {
  const { job, widthPx, heightPx, isOpen, onOpen, onDismiss } = props;
  const prompt = typeof job.params.prompt === "string" ? job.params.prompt : "";
  return (
    <li className="@container flex min-w-0 shrink-0 flex-col gap-1" style={{ width: widthPx }}>
      <div className="relative w-full" style={{ height: heightPx }}>
        {hasEnded(job) ? null : <CardRunning job={job} />}
        {job.status === "failed" ? <CardFailed job={job} onDismiss={onDismiss} /> : null}
        {job.status === "completed" ? <CardPicture job={job} isOpen={isOpen} onOpen={onOpen} /> : null}
      </div>
      <p title={prompt} className="truncate text-xs text-quiet">
        {prompt}
      </p>
      <DowngradeNote job={job} />
      {job.status === "completed" ? <CardActions job={job} /> : null}
    </li>
  );
});
