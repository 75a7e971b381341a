"use client";
import { useTranslations } from "next-intl";
import { type ReactNode, useEffect, useRef } from "react";
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

/** On a phone the result lies below the fold; a new job brings it into sight. */
function useScrollToResult(jobId: string | null) {
  const ref = useRef<HTMLElement>(null);
  const seen = useRef(jobId);
  useEffect(() => {
    const isNew = seen.current !== null && jobId !== null && jobId !== seen.current;
    const isFirst = seen.current === null && jobId !== null;
    seen.current = jobId ?? "";
    if (isNew || isFirst) ref.current?.scrollIntoView({ block: "nearest", behavior: "smooth" });
  }, [jobId]);
  return ref;
}

export function ResultFrame({ jobId, proportion, children }: Props) {
  const t = useTranslations("studio");
  const ref = useScrollToResult(jobId);
  const { job, isMissing } = useJob(jobId);
  const shown = isMissing ? undefined : job;
  return (
    <section aria-labelledby="frame-result" ref={ref} className="flex min-w-0 scroll-my-20 flex-col gap-3">
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
