"use client";
import type { JobView } from "@atelier/server/jobs";
import { useFormatter, useTranslations } from "next-intl";
import Link from "next/link";
import { memo, type ReactNode } from "react";
import { cx } from "../ui/cx.ts";
import { JobAction } from "./job-action.tsx";
import { JobStateLine } from "./job-state-line.tsx";
import { JobThumbnail } from "./job-thumbnail.tsx";
import { wordsOf } from "./text.ts";
import { useEngineName } from "./use-engine-name.ts";
import { shownKind } from "./shown-kind.ts";

interface Props {
  readonly job: JobView;
  readonly className?: string;
  /** What moves the row, before all else in it. */
  readonly handle?: ReactNode;
}

export const JobListRow = memo(function JobListRow({ job, className, handle }: Props) {
  const t = useTranslations("jobs");
  const format = useFormatter();
  const engineName = useEngineName();
  const made = new Date(job.createdAt);
  const { prompt } = wordsOf(job.params);
  return (
    <li className={cx("flex items-center gap-2 transition-colors duration-120 hover:bg-hover/50", className)}>
      {handle}
      <Link
        href={`/jobs/${job.id}`}
        className="grid min-w-0 flex-1 grid-cols-[56px_minmax(0,1fr)] items-center gap-x-4 gap-y-1 rounded-control py-2.5 sm:grid-cols-[56px_minmax(0,1fr)_auto] xl:grid-cols-[56px_minmax(180px,1fr)_minmax(280px,1.4fr)_minmax(160px,1fr)_140px] xl:gap-x-8"
      >
        <span className="max-xl:col-start-1 max-xl:row-span-2 max-xl:row-start-1">
          <JobThumbnail job={job} size="medium" />
        </span>
        <span className="truncate text-sm font-medium max-xl:col-start-2 max-xl:row-start-1">
          {t(`kinds.${shownKind(job)}`)}
          {prompt === "" ? null : <span className="ml-2 font-normal text-quiet">{prompt}</span>}
        </span>
        <span className="min-w-0 max-xl:col-start-2 max-xl:row-start-2 sm:max-xl:col-span-2">
          <JobStateLine job={job} />
        </span>
        <span className="truncate text-xs text-quiet max-xl:hidden">{engineName(job.engine)}</span>
        <time
          dateTime={job.createdAt}
          className="tabular text-right text-xs text-quiet max-sm:hidden sm:max-xl:col-start-3 sm:max-xl:row-start-1"
        >
          {format.dateTime(made, { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" })}
        </time>
      </Link>
      <span className="flex w-9 shrink-0 justify-center">
        <JobAction job={job} />
      </span>
    </li>
  );
});
