"use client";
import type { JobView } from "@atelier/server/jobs";
import { useTranslations } from "next-intl";
import { useIsGone } from "../data/use-is-gone.ts";
import { RunButton } from "../frame/run-button.tsx";
import { DowngradeNote } from "../jobs/downgrade-note.tsx";
import { hasEnded } from "../live/live-state.ts";
import { useJob } from "../live/use-job.ts";
import { useOutfitEngine } from "./engine/use-outfit-engine.ts";
import { EngineLine } from "./engine-line.tsx";
import { isAbout } from "./is-about.ts";
import { usePersonMask } from "./mask/use-person-mask.ts";
import { ResultActions } from "./result-actions.tsx";
import { useStudio } from "./use-studio.ts";

interface Props {
  readonly jobId: string | null;
  readonly canRun: boolean;
  readonly isSubmitting: boolean;
  readonly onRun: () => void;
}

/** Whether a job was about exactly what lies on the table now. */
function useIsCurrent(job: JobView | undefined): boolean {
  const { personId, garmentId, category } = useStudio();
  const { chosen, name, takesMask, words } = useOutfitEngine(personId);
  const { isPainted, sentId } = usePersonMask(personId);
  if (job === undefined) return false;
  const maskId = takesMask && isPainted ? sentId : undefined;
  return isAbout(job, { personId, garmentId, category, chosen, name, words, maskId });
}

function useIsDone(job: JobView | undefined): boolean {
  const isGone = useIsGone(job?.outputs[0]?.imageId ?? null);
  return job?.status === "completed" && job.outputs.length > 0 && !isGone;
}

/** Under the result: the one thing to do next. */
export function RunActions({ jobId, canRun, isSubmitting, onRun }: Props) {
  const t = useTranslations("studio");
  const { job } = useJob(jobId);
  const isCurrent = useIsCurrent(job);
  const isDone = useIsDone(job);
  const isOpen = job !== undefined && !hasEnded(job);
  return (
    <div className="flex flex-col gap-3">
      {job !== undefined && isDone ? <ResultActions job={job} isCurrent={isCurrent} /> : null}
      {isDone && isCurrent ? null : (
        <RunButton canRun={canRun} isBusy={isSubmitting || isOpen} onRun={onRun} className="w-full">
          {t("run")}
        </RunButton>
      )}
      <EngineLine isDone={isDone && isCurrent} isReady={canRun && !isOpen && !(isDone && isCurrent)} />
      {job === undefined ? null : <DowngradeNote job={job} />}
    </div>
  );
}
