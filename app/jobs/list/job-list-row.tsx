"use client";
import type { JobView } from "@atelier/server/jobs";
import { useFormatter, useTranslations } from "next-intl";
import Link from "next/link";
import { memo } from "react";
import { JobAction } from "../job-action.tsx";
import { JobStateLine } from "../job-state-line.tsx";
import { JobThumbnail } from "../job-thumbnail.tsx";

export const JobListRow = memo(function JobListRow({ job }: { readonly job: JobView }) {
  const t = useTranslations("jobs");
  const format = useFormatter();
  const made = new Date(job.createdAt);
  return (
    <li className="flex items-center gap-2">
      <Link
        href={`/jobs/${job.id}`}
        className="-mx-2 flex min-w-0 flex-1 items-center gap-4 rounded-control px-2 py-3 transition-colors duration-120 hover:bg-hover/60"
      >
        <JobThumbnail job={job} size="medium" />
        <span className="flex min-w-0 flex-1 flex-col gap-1">
          <span className="flex items-baseline gap-3">
            <span className="truncate text-sm font-medium">{t(`kinds.${job.kind}`)}</span>
            <time dateTime={job.createdAt} className="tabular ml-auto shrink-0 text-xs text-quiet">
              {format.dateTime(made, { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" })}
            </time>
          </span>
          <JobStateLine job={job} />
        </span>
      </Link>
      <span className="flex w-9 justify-center">
        <JobAction job={job} />
      </span>
    </li>
  );
});
