"use client";
import { useTranslations } from "next-intl";
import { useState } from "react";
import type { JobView } from "@atelier/server/jobs";
import { useIsGone } from "../client/queries.ts";
import { imageUrl } from "../client/urls.ts";
import { useCancelJob } from "../jobs/parts.tsx";
import { formatSeconds, useElapsedSeconds, useJobNow, useSayTime } from "../jobs/text.ts";
import { useWaitingText } from "../jobs/waiting-text.ts";
import { hasEnded } from "../live/store.ts";
import { CompareSlider } from "../pictures/compare-slider.tsx";
import { AiBadge } from "../pictures/picture.tsx";
import { Button, cx } from "../ui/button.tsx";
import { fitBox, useBoxSize } from "../ui/box-size.ts";
import { BorderProgress } from "../ui/progress.tsx";
import { ResultRefused } from "./result-actions.tsx";
import { useStudio } from "./state.ts";
import type { Pass } from "./try-on.ts";

interface ShownProps {
  readonly job: JobView;
  readonly pass: Pass | null;
}

/** A finished result, compared with the input photo. */
function ResultDone({ job, pass }: ShownProps) {
  const { personId: shownPersonId } = useStudio();
  const t = useTranslations("studio");
  const [box, setBox] = useState<HTMLDivElement | null>(null);
  const size = useBoxSize(box);
  const [output] = job.outputs;
  const ownId = job.inputs.find((input) => input.role === "person")?.imageId;
  // The last pass went on with the result of the one before.
  const personId = pass === null ? ownId : (shownPersonId ?? ownId);
  const isGone = useIsGone(output?.imageId ?? null);
  if (output === undefined || personId === undefined || isGone)
    return <p className="text-sm text-quiet">{t("resultGone")}</p>;
  const shown = fitBox(size, output);
  return (
    <div ref={setBox} className="flex size-full items-center justify-center">
      <div className="relative animate-develop" style={shown}>
        <CompareSlider
          beforeUrl={imageUrl(personId, "preview")}
          afterUrl={imageUrl(output.imageId, "preview")}
          afterAlt={t("resultAlt")}
          className="size-full"
        />
        <span className="pointer-events-none absolute inset-e-2 bottom-2">
          <AiBadge />
        </span>
      </div>
    </div>
  );
}

/** Of the whole order, where there is one. */
function progressOf(own: number | null, pass: Pass | null): number | null {
  if (pass === null) return own;
  return (pass.number - 1 + (pass.isBetween ? 1 : (own ?? 0))) / pass.count;
}

interface RunningGroundProps {
  readonly job: JobView;
  /** What the engine has drawn so far. */
  readonly preview: string | null;
}

/** The preview of a running job; before there is one, its person out of focus. */
function RunningGround({ job, preview }: RunningGroundProps) {
  const personId = job.inputs.find((input) => input.role === "person")?.imageId;
  const ground = preview ?? (personId === undefined ? null : imageUrl(personId, "preview"));
  if (ground === null) return null;
  return (
    <img
      src={ground}
      alt=""
      className={cx(
        "absolute inset-2.5 size-[calc(100%-20px)] object-contain transition-[filter] duration-200",
        preview === null && "opacity-60 blur-[6px] saturate-50",
      )}
    />
  );
}

/** A running job: its stage as text, its progress along the frame. */
function ResultRunning({ job, pass }: ShownProps) {
  const t = useTranslations("studio");
  const now = useJobNow(job);
  const waiting = useWaitingText(job);
  const seconds = useElapsedSeconds(job.createdAt, job.endedAt);
  const say = useSayTime();
  const cancel = useCancelJob(job.id);
  const isBetween = pass?.isBetween === true;
  const progress = progressOf(now.progress, pass);
  return (
    <>
      <RunningGround job={job} preview={now.preview} />
      <BorderProgress value={progress} label={t("progress")} />
      <div
        className={cx(
          "relative flex min-w-52 flex-col items-center gap-1 rounded-card bg-raised px-5 py-4 shadow-float",
          // The text moves to the lower edge, so that it does not cover the preview.
          now.preview !== null && "mt-auto mb-3 bg-raised/92 py-2.5",
        )}
      >
        <p role="status" className="text-sm font-medium">
          {isBetween ? t("pieces.next") : now.text}
        </p>
        <p className="tabular text-xs text-quiet">
          {[
            ...(pass === null ? [] : [t("pieces.pass", { number: pass.number, count: pass.count })]),
            ...(progress === null ? [] : [`${Math.round(progress * 100)} %`]),
            formatSeconds(seconds, say),
          ].join(" · ")}
        </p>
        {waiting === null ? null : (
          <p className="max-w-[28ch] text-center text-xs text-quiet">
            {[waiting.position, waiting.start].filter((part) => part !== null).join(" · ")}
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

/** A job as it runs, its finished result, or why there is none. */
export function ResultShown({ job, pass }: ShownProps) {
  if (!hasEnded(job) || pass?.isBetween === true) return <ResultRunning job={job} pass={pass} />;
  if (job.status === "completed" && pass?.isStopped !== true) return <ResultDone job={job} pass={pass} />;
  return <ResultRefused job={job} pass={pass} />;
}
