"use client";
import type { JobView } from "@atelier/server/jobs";
import { useTranslations } from "next-intl";
import Link from "next/link";
import { memo } from "react";
import { JobAction } from "../job-action.tsx";
import { JobStateLine } from "../job-state-line.tsx";
import { JobThumbnail } from "../job-thumbnail.tsx";
import { jobHref } from "../job-href.ts";
import { wordsOf } from "../text.ts";
import { shownKind } from "../shown-kind.ts";

/** One job of the tray; drawn anew only when this job changes. */
export const DockRow = memo(function DockRow({ job }: { readonly job: JobView }) {
  const t = useTranslations("jobs");
  const { prompt } = wordsOf(job.params);
  return (
    <li className="flex items-center gap-3 px-3 py-2">
      <Link href={jobHref(job)} className="flex min-w-0 flex-1 items-center gap-3 rounded-control">
        <JobThumbnail job={job} size="small" />
        <span className="flex min-w-0 flex-1 flex-col gap-0.5">
          <span className="truncate text-xs font-medium">
            {t(`kinds.${shownKind(job)}`)}
            {prompt === "" ? null : <span className="ml-1.5 font-normal text-quiet">{prompt}</span>}
          </span>
          <JobStateLine job={job} />
        </span>
      </Link>
      <JobAction job={job} />
    </li>
  );
});
