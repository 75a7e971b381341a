"use client";
import { useTranslations } from "next-intl";
import { type ReactNode, useEffect, useRef } from "react";
import { hasEnded } from "../live/live-state.ts";
import { useJob } from "../live/use-job.ts";
import { cx } from "../ui/cx.ts";
import { FrameHeader } from "./frame-header.tsx";
import { Mat } from "./mat.tsx";
import { ResultContent } from "./result-content.tsx";

interface Props {
  readonly jobId: string | null;
  readonly proportion: number;
  readonly children: ReactNode;
}

/** On a phone the result lies below the fold; a job that runs brings it into sight, once. */
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

export function ResultFrame({ jobId, proportion, children }: Props) {
  const t = useTranslations("studio");
  const { job, isMissing } = useJob(jobId);
  const ref = useScrollToResult(job !== undefined && !hasEnded(job) ? job.id : null);
  const shown = isMissing ? undefined : job;
  return (
    <section
      aria-labelledby="frame-result"
      ref={ref}
      className="flex min-w-0 scroll-my-6 flex-col gap-3 sm:max-wide:col-span-2"
    >
      <FrameHeader id="frame-result" title={t("slots.result")} />
      <div className={cx("flex flex-col gap-3", shown === undefined && "max-wide:flex-col-reverse")}>
        <Mat isEmpty={shown === undefined} proportion={proportion}>
          <ResultContent job={shown} />
        </Mat>
        {children}
      </div>
    </section>
  );
}
