"use client";
import { useTranslations } from "next-intl";
import { type ReactNode, useEffect, useRef, useState } from "react";
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
import { fitBox, useBoxSize } from "../ui/hooks.ts";
import { FrameHeader, PictureGround } from "./input-frame.tsx";
import { ResultRefused } from "./result-actions.tsx";
import { useStudio } from "./state.ts";
import type { Pass } from "./try-on.ts";

interface BorderProgressProps {
  /** 0..1; null while nothing is known. */
  readonly value: number | null;
  readonly label: string;
}

/** Progress that runs along the border of its frame. */
export function BorderProgress({ value, label }: BorderProgressProps) {
  const percent = Math.round((value ?? 0) * 100);
  return (
    <svg
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={value === null ? undefined : percent}
      className="pointer-events-none absolute inset-0 size-full overflow-visible text-ink"
    >
      <rect
        x="1.5"
        y="1.5"
        rx="8.5"
        pathLength="100"
        fill="none"
        stroke="currentColor"
        strokeWidth="3"
        strokeDasharray="100"
        className={
          value === null ? "animate-breathe" : "transition-[stroke-dashoffset] duration-200 ease-out"
        }
        style={{
          width: "calc(100% - 3px)",
          height: "calc(100% - 3px)",
          strokeDashoffset: 100 - Math.max(percent, 3),
        }}
      />
    </svg>
  );
}

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

function ResultContent({ job, pass }: Pick<ResultFrameProps, "job" | "pass">) {
  const t = useTranslations("studio");
  if (job === undefined) {
    return (
      <div className="flex flex-col items-center gap-1.5 p-6 text-center">
        <p className="font-serif text-lg">{t("resultEmpty.title")}</p>
        <p className="max-w-[32ch] text-xs text-quiet">{t("resultEmpty.text")}</p>
      </div>
    );
  }
  if (!hasEnded(job) || pass?.isBetween === true) return <ResultRunning job={job} pass={pass} />;
  if (job.status === "completed" && pass?.isStopped !== true) return <ResultDone job={job} pass={pass} />;
  return <ResultRefused job={job} pass={pass} />;
}

interface ResultFrameProps {
  readonly job: JobView | undefined;
  /** Of an order of several passes. */
  readonly pass: Pass | null;
  readonly proportion: number;
  readonly children: ReactNode;
}

/** On a phone the result is below the visible area; a started job scrolls it into view once. */
function useScrollToResult(runningId: string | null) {
  const ref = useRef<HTMLElement>(null);
  useEffect(() => {
    const frame = ref.current;
    if (runningId === null || frame === null) return;
    const isCut = frame.getBoundingClientRect().bottom > window.innerHeight;
    frame.scrollIntoView({ block: isCut ? "start" : "nearest", behavior: "smooth" });
  }, [runningId]);
  return ref;
}

export function ResultFrame({ job, pass, proportion, children }: ResultFrameProps) {
  const t = useTranslations("studio");
  const ref = useScrollToResult(job !== undefined && !hasEnded(job) ? job.id : null);
  return (
    <section
      aria-labelledby="frame-result"
      ref={ref}
      className="flex min-w-0 scroll-my-6 flex-col gap-3 max-wide:col-span-2 max-wide:row-start-6 max-wide:mt-5 max-wide:scroll-mb-44"
    >
      <FrameHeader id="frame-result" title={t("slots.result")} />
      <div className="flex flex-col gap-3">
        <PictureGround isEmpty={job === undefined} proportion={proportion}>
          <ResultContent job={job} pass={pass} />
        </PictureGround>
        {children}
      </div>
    </section>
  );
}
