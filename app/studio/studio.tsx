"use client";
import { useTranslations } from "next-intl";
import { type ReactNode, useCallback, useEffect, useRef } from "react";
import type { JobView } from "@atelier/server/jobs";
import { useCapability, useImage, useIsGone } from "../client/queries.ts";
import { useFailureToast } from "../ui/failures.ts";
import { RunButton } from "../parts/run-button.tsx";
import { hasEnded } from "../live/store.ts";
import { later, useFirstSign } from "../ui/later.tsx";
import { useFileTarget, useUploadBatch } from "../uploads/drop.tsx";
import { CategoryChoice, ConsentCheck, EngineChoice, MaskButton, useOutfitEngine } from "./engine.tsx";
import { FrameHeader, frameProportion, InputFrame, PictureGround } from "./input-frame.tsx";
import { useSlot } from "./inputs.tsx";
import { usePersonMask, useStudio } from "./state.ts";
import { type Pass, usedInputs, usePlan, useRun, useShownJob, useStudioRemix } from "./try-on.ts";

interface EngineLineProps {
  /** A result is shown; the line then names the engine that made the result. */
  readonly isDone: boolean;
  /** All inputs are present and no job runs. */
  readonly isReady: boolean;
  /** Why these pieces cannot be put on. */
  readonly lacks?: string | null;
}

const Expected = later(async () => (await import("./expected.tsx")).Expected);
const DowngradeNote = later(async () => (await import("../jobs/parts.tsx")).DowngradeNote);
const ResultShown = later(async () => (await import("./result-shown.tsx")).ResultShown);
const Pieces = later(async () => (await import("./pieces.tsx")).Pieces);
const ResultActions = later(async () => (await import("./result-actions.tsx")).ResultActions);
const noProps = {};

/** A run may be started before an upgrade of the studio and end after it. */
function preloadResult(): void {
  ResultShown.preload();
  ResultActions.preload();
  DowngradeNote.preload();
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
  const showFailure = useFailureToast();
  const obstacle = useObstacle(isDone) ?? lacks;
  if (obstacle !== null) return <p className="text-xs text-warn">{obstacle}</p>;
  const localName = t(isDone ? "engineLocalDone" : "engineLocal");
  // With several options the select of engines already names the engine.
  const isNamed = isDone || options.length < 2;
  return (
    <div className="flex min-h-[18px] flex-wrap gap-x-2 text-xs text-quiet">
      {isNamed ? <p>{chosen?.title ?? localName}</p> : null}
      <Expected isWanted={isReady} isShown={isReady} onFailure={showFailure} props={noProps} />
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
  const showFailure = useFailureToast();
  const isCurrent = useIsCurrent(job);
  const isBetween = pass?.isBetween === true;
  const isDone = useIsDone(job) && !isBetween;
  const isOpen = isBetween || (job !== undefined && !hasEnded(job));
  return (
    <div className="flex flex-col gap-3">
      {job !== undefined && isDone ? (
        <ResultActions isWanted onFailure={showFailure} props={{ job, isCurrent }} />
      ) : null}
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
      {job === undefined ? null : <DowngradeNote isWanted onFailure={showFailure} props={{ job }} />}
    </div>
  );
}

function ResultContent({ job, pass }: Pick<ResultFrameProps, "job" | "pass">) {
  const t = useTranslations("studio");
  const showFailure = useFailureToast();
  if (job === undefined) {
    return (
      <div className="flex flex-col items-center gap-1.5 p-6 text-center">
        <p className="font-serif text-lg">{t("resultEmpty.title")}</p>
        <p className="max-w-[32ch] text-xs text-quiet">{t("resultEmpty.text")}</p>
      </div>
    );
  }
  return <ResultShown isWanted onFailure={showFailure} props={{ job, pass }} />;
}

interface ResultFrameProps {
  readonly job: JobView | undefined;
  /** Of an order of several passes. */
  readonly pass: Pass | null;
  readonly proportion: number;
  readonly children: ReactNode;
}

/** On a phone the result is below the visible area; a started job scrolls it into view once. */
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

function ResultFrame({ job, pass, proportion, children }: ResultFrameProps) {
  const t = useTranslations("studio");
  const ref = useScrollToResult(job !== undefined && !hasEnded(job) ? job.id : null);
  return (
    <section
      aria-labelledby="frame-result"
      ref={ref}
      className="flex min-w-0 scroll-my-6 flex-col gap-3 self-start max-wide:col-span-2 max-wide:row-start-6 max-wide:mt-5 max-wide:scroll-mb-44"
    >
      <FrameHeader id="frame-result" title={t("slots.result")} />
      <div className="flex flex-col gap-3">
        <PictureGround isEmpty={job === undefined} proportion={proportion}>
          <ResultContent job={job} pass={pass} />
        </PictureGround>
        {children}
      </div>
    </section>
  );
}

/** Person, garment, result: the three frames of the studio. */
export function Studio() {
  const t = useTranslations("studio");
  const { personId, garmentId } = useStudio();
  const showFailure = useFailureToast();
  useStudioRemix();
  useFirstSign(preloadResult);
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
        <Pieces isWanted={garmentId !== null} onFailure={showFailure} props={noProps} />
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
