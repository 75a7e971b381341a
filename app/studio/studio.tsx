"use client";
import { useTranslations } from "next-intl";
import { type ReactNode, useCallback } from "react";
import type { JobView } from "@atelier/server/jobs";
import { useCapability, useImage, useIsGone } from "../client/queries.ts";
import { useBatchEstimate } from "../batches/submit-batch.ts";
import { useEstimate } from "../client/submit.ts";
import { BatchEstimateLine } from "../batches/estimate-line.tsx";
import { RunButton } from "../frame/run-button.tsx";
import { OfferLine } from "../jobs/offer-line.tsx";
import { DowngradeNote } from "../jobs/parts.tsx";
import { hasEnded } from "../live/store.ts";
import { useFileTarget, useUploadBatch } from "../uploads/drop.tsx";
import { CategoryChoice, ConsentCheck, EngineChoice, MaskButton, useOutfitEngine } from "./engine.tsx";
import { frameProportion, InputFrame } from "./input-frame.tsx";
import { useSlot } from "./inputs.tsx";
import { ResultActions, useStudioRemix } from "./result-actions.tsx";
import { ResultFrame } from "./result.tsx";
import { Pieces } from "./pieces.tsx";
import { usePersonMask, useStudio } from "./state.ts";
import { type Pass, usedInputs, usePlan, useRun, useShownJob } from "./try-on.ts";

interface EngineLineProps {
  /** A result is shown; the line then names the engine that made the result. */
  readonly isDone: boolean;
  /** All inputs are present and no job runs. */
  readonly isReady: boolean;
  /** Why these pieces cannot be put on. */
  readonly lacks?: string | null;
}

/** Where it would run, when, for how long and for which price. */
function Expected() {
  const { personId, garmentId } = useStudio();
  const { takesMask } = useOutfitEngine(personId);
  const plan = usePlan(personId, garmentId);
  // The mask does not affect the estimate, but a workflow that requires a mask refuses an estimate without it.
  const answer = useEstimate(plan?.way === "run" && !takesMask ? plan.request : null);
  const ofOrder = useBatchEstimate(plan?.way === "passes" ? plan.input : null);
  return ofOrder === undefined ? (
    <OfferLine answer={answer} />
  ) : (
    <BatchEstimateLine answer={ofOrder} count={1} />
  );
}

/** Why the outfit cannot be changed; null when nothing is missing. */
function useObstacle(isDone: boolean): string | null {
  const t = useTranslations("studio");
  const { personId } = useStudio();
  const capability = useCapability("outfit_change");
  const { lacksMask } = useOutfitEngine(personId);
  if (capability === undefined) return null;
  if (!capability.available) return capability.reason ?? t("noEngine");
  if (isDone) return null;
  return capability.reason ?? (lacksMask ? t("mask.needed") : null);
}

/** The engine, and what a run with it would be. */
function EngineLine({ isDone, isReady, lacks = null }: EngineLineProps) {
  const t = useTranslations("studio");
  const { personId } = useStudio();
  const { chosen, options } = useOutfitEngine(personId);
  const obstacle = useObstacle(isDone) ?? lacks;
  if (obstacle !== null) return <p className="text-xs text-warn">{obstacle}</p>;
  const localName = t(isDone ? "engineLocalDone" : "engineLocal");
  // With several options the select of engines already names the engine.
  const isNamed = isDone || options.length < 2;
  return (
    <div className="flex min-h-[18px] flex-wrap gap-x-2 text-xs text-quiet">
      {isNamed ? <p>{chosen?.title ?? localName}</p> : null}
      {isReady ? <Expected /> : null}
    </div>
  );
}

interface RunActionsProps {
  readonly job: JobView | undefined;
  readonly pass: Pass | null;
  /** Why these pieces cannot be put on; null when they can. */
  readonly obstacle: string | null;
  readonly canRun: boolean;
  readonly isSubmitting: boolean;
  readonly onRun: () => void;
}

/** Whether a job used exactly the present inputs and settings. */
function useIsCurrent(job: JobView | undefined): boolean {
  const { personId, garmentId, category, more, order } = useStudio();
  const { chosen, name, takesMask, prompt } = useOutfitEngine(personId);
  const { isPainted, sentId } = usePersonMask(personId);
  const plan = usePlan(personId, garmentId);
  if (job === undefined) return false;
  if (order !== null) return plan?.way === "passes" && JSON.stringify(plan.input) === order.asked;
  const maskId = takesMask && isPainted ? sentId : undefined;
  return usedInputs(job, { personId, garmentId, more, category, chosen, name, prompt, maskId });
}

function useIsDone(job: JobView | undefined): boolean {
  const isGone = useIsGone(job?.outputs[0]?.imageId ?? null);
  return job?.status === "completed" && job.outputs.length > 0 && !isGone;
}

interface RunBarProps {
  /** False while a job runs: on a phone the bar is then hidden, so that the result has more room. */
  readonly isIdle: boolean;
  readonly children: ReactNode;
}

/** The bar with the run button: below the result on a wide screen, else fixed above the tab bar. */
function RunBar({ isIdle, children }: RunBarProps) {
  return (
    <div
      data-run-bar={isIdle ? "" : undefined}
      className="flex flex-col gap-3 max-wide:not-data-run-bar:hidden max-wide:fixed max-wide:inset-x-0 max-wide:bottom-(--tabs) max-wide:z-10 max-wide:flex-col-reverse max-wide:gap-1.5 max-wide:border-t max-wide:border-line max-wide:bg-paper/92 max-wide:px-4 max-wide:py-2.5 max-wide:backdrop-blur-md sm:max-wide:px-6"
    >
      {children}
    </div>
  );
}

/** Below the result: the actions of a finished result, and the run button unless that result is current. */
function RunActions({ job, pass, obstacle, canRun, isSubmitting, onRun }: RunActionsProps) {
  const t = useTranslations("studio");
  const isCurrent = useIsCurrent(job);
  const isBetween = pass?.isBetween === true;
  const isDone = useIsDone(job) && !isBetween;
  const isOpen = isBetween || (job !== undefined && !hasEnded(job));
  return (
    <div className="flex flex-col gap-3">
      {job !== undefined && isDone ? <ResultActions job={job} isCurrent={isCurrent} /> : null}
      {isDone && isCurrent ? (
        <EngineLine isDone isReady={false} />
      ) : (
        <RunBar isIdle={!isOpen}>
          <RunButton canRun={canRun} isBusy={isSubmitting || isOpen} onRun={onRun} className="w-full">
            {t("run")}
          </RunButton>
          <EngineLine isDone={false} isReady={canRun && !isOpen} lacks={obstacle} />
        </RunBar>
      )}
      {job === undefined ? null : <DowngradeNote job={job} />}
    </div>
  );
}

/** Person, garment, result: the three frames of the studio. */
export function Studio() {
  const t = useTranslations("studio");
  const { personId } = useStudio();
  useStudioRemix();
  const person = useSlot("person");
  const garment = useSlot("garment");
  const { run, canRun, lacksRuns, isSubmitting, isConsentMissed } = useRun(person.imageId, garment.imageId);
  const { job, pass } = useShownJob();
  const { data: personImage } = useImage(personId);

  const uploadBatch = useUploadBatch();
  // Files for which no frame is free are uploaded to the gallery.
  const takeFiles = useCallback(
    (files: File[]) => {
      if (files.length > (person.isFree ? 2 : 1)) {
        uploadBatch(files);
        return;
      }
      const [first, second] = files;
      if (first !== undefined) (person.isFree ? person : garment).put(first);
      if (second !== undefined) garment.put(second);
    },
    [person, garment, uploadBatch],
  );
  useFileTarget(takeFiles);

  return (
    <div className="grid grid-cols-2 gap-x-3 px-4 pt-2 max-wide:gap-y-3 max-wide:has-data-run-bar:pb-16 sm:gap-x-6 sm:px-6 wide:grid-cols-[1fr_1fr_1.35fr] wide:px-8 xl:gap-x-8">
      <InputFrame slot="person" state={person}>
        <ConsentCheck personId={person.imageId} isMissed={isConsentMissed} />
        <MaskButton personId={person.imageId} />
      </InputFrame>
      <InputFrame slot="garment" state={garment}>
        <CategoryChoice personId={person.imageId} />
        <Pieces />
        <EngineChoice personId={person.imageId} />
      </InputFrame>
      <ResultFrame job={job} pass={pass} proportion={frameProportion(personImage)}>
        <RunActions
          job={job}
          pass={pass}
          obstacle={lacksRuns ? t("pieces.noMask") : null}
          canRun={canRun}
          isSubmitting={isSubmitting}
          onRun={run}
        />
      </ResultFrame>
    </div>
  );
}
