"use client";
import type { NodeJob } from "@atelier/server/monitoring";
import { useTranslations } from "next-intl";
import Link from "next/link";
import { Progress } from "../../ui/progress.tsx";
import { formatSpan } from "../parts/span.ts";

/** What a node works on, each with the way to its story. */
export function RunningJobs({ jobs }: { readonly jobs: readonly NodeJob[] }) {
  const t = useTranslations("admin.nodes");
  const words = useTranslations("jobs");
  return (
    <div className="min-w-0">
      <h3 className="mb-2 text-xs font-medium text-quiet">{t("running")}</h3>
      {jobs.length === 0 ? <p className="text-xs text-quiet">{t("nothingRuns")}</p> : null}
      <ul className="flex flex-col gap-2">
        {jobs.map(({ id, kind, queue, progress, sinceMs }) => (
          <li key={id}>
            <Link href={`/admin/jobs/${id}`} className="block text-xs underline-offset-4 hover:underline">
              <span className="tabular flex justify-between gap-4">
                <span className="truncate">
                  {words(`kinds.${kind}`)}
                  <span className="text-quiet">{` · ${queue}`}</span>
                </span>
                <span className="shrink-0 text-quiet">{formatSpan(sinceMs)}</span>
              </span>
              <Progress
                value={progress}
                label={words("progressOf", { kind: words(`kinds.${kind}`) })}
                className="mt-1"
              />
            </Link>
          </li>
        ))}
      </ul>
    </div>
  );
}
