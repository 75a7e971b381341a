"use client";
import type { JobView } from "@atelier/server/jobs";
import { useTranslations } from "next-intl";
import { hasEnded } from "../live/live-state.ts";
import { ResultDone } from "./result-done.tsx";
import { ResultRefused } from "./result-refused.tsx";
import { ResultRunning } from "./result.tsx";

export function ResultContent({ job }: { readonly job: JobView | undefined }) {
  const t = useTranslations("studio");
  if (job === undefined) {
    return (
      <div className="flex flex-col items-center gap-1.5 p-6 text-center">
        <p className="font-serif text-lg">{t("resultEmpty.title")}</p>
        <p className="max-w-[32ch] text-xs text-quiet">{t("resultEmpty.text")}</p>
      </div>
    );
  }
  if (!hasEnded(job)) return <ResultRunning job={job} />;
  return job.status === "completed" ? <ResultDone job={job} /> : <ResultRefused job={job} />;
}
