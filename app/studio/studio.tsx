"use client";
import { useCallback } from "react";
import { useJob } from "../live/use-job.ts";
import { hasEnded } from "../live/live-state.ts";
import { useFileTarget } from "../uploads/file-target.ts";
import { CategoryChoice } from "./category-choice.tsx";
import { ConsentCheck } from "./consent-check.tsx";
import { InputFrame } from "./input-frame.tsx";
import { ResultActions } from "./result-actions.tsx";
import { ResultFrame } from "./result-frame.tsx";
import { RunButton } from "./run-button.tsx";
import { useRun } from "./use-run.ts";
import { useSlot } from "./use-slot.ts";
import { useStudio } from "./use-studio.ts";

/** Person, garment, result: the three frames of the studio. */
export function Studio() {
  const { jobId } = useStudio();
  const person = useSlot("person");
  const garment = useSlot("garment");
  const { job } = useJob(jobId);
  const { run, canRun, isSubmitting, isConsentMissed } = useRun(person.imageId, garment.imageId);

  const takeFiles = useCallback(
    (files: File[]) => {
      const [first, second] = files;
      const personIsFree = person.imageId === null;
      if (first !== undefined) (personIsFree ? person : garment).put(first);
      if (second !== undefined && personIsFree) garment.put(second);
    },
    [person, garment],
  );
  useFileTarget(takeFiles);

  return (
    <div className="grid gap-x-6 gap-y-10 px-4 pt-2 sm:px-6 wide:grid-cols-3 wide:px-8 xl:gap-x-8">
      <InputFrame slot="person" state={person}>
        <ConsentCheck personId={person.imageId} isMissed={isConsentMissed} />
      </InputFrame>
      <InputFrame slot="garment" state={garment}>
        <CategoryChoice />
      </InputFrame>
      <ResultFrame jobId={jobId}>
        <div className="flex flex-col gap-3">
          {job?.status === "completed" ? <ResultActions job={job} /> : null}
          <RunButton
            canRun={canRun}
            isBusy={isSubmitting || (job !== undefined && !hasEnded(job))}
            onRun={run}
          />
        </div>
      </ResultFrame>
    </div>
  );
}
