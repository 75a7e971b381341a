"use client";
import type { JobView } from "@atelier/server/jobs";
import { useTranslations } from "next-intl";
import { useJobFailureText } from "./use-job-failure-text.ts";
import { hasEnded } from "../live/live-state.ts";
import { Progress } from "../ui/progress.tsx";
import { formatSeconds } from "./duration.ts";
import { useJobNow } from "./stage-text.ts";
import { StatusIcon } from "./status-icon.tsx";
import { useElapsedSeconds } from "./use-elapsed.ts";
import { useWaitingText, type WaitingText } from "./waiting/use-waiting-text.ts";
import { shownKind } from "./shown-kind.ts";

function useStateText(job: JobView, waiting: WaitingText | null): string {
  const t = useTranslations("jobs");
  const textOf = useJobFailureText();
  const now = useJobNow(job);
  if (waiting !== null) return [waiting.place, waiting.start].filter((part) => part !== null).join(" · ");
  if (job.status === "failed" && job.error !== null) return textOf(job.error).title;
  return hasEnded(job) ? t(`status.${job.status}`) : now.text;
}

/** A job's state in one line, and its progress as another while it runs. */
export function JobStateLine({ job }: { readonly job: JobView }) {
  const t = useTranslations("jobs");
  const waiting = useWaitingText(job);
  const text = useStateText(job, waiting);
  const { progress } = useJobNow(job);
  const seconds = useElapsedSeconds(job.startedAt ?? job.createdAt, job.endedAt);
  const isOpen = !hasEnded(job);
  return (
    <div className="flex min-w-0 flex-col gap-1.5">
      <p className="flex min-w-0 items-center gap-1.5 text-xs text-quiet">
        <StatusIcon status={job.status} />
        <span className="truncate">{text}</span>
        <span className="tabular ml-auto shrink-0 pl-2">
          {isOpen && progress !== null ? `${Math.round(progress * 100)} % · ` : null}
          {/* Of a job that waits it counts when it starts. */}
          {waiting === null ? formatSeconds(seconds) : null}
        </span>
      </p>
      {isOpen && job.status === "processing" ? (
        <Progress value={progress} label={t("progressOf", { kind: t(`kinds.${shownKind(job)}`) })} />
      ) : null}
    </div>
  );
}
