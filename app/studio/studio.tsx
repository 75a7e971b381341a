"use client";
import { useCallback } from "react";
import { useImage } from "../data/use-image.ts";
import { useFileTarget } from "../uploads/file-target.ts";
import { useUploadBatch } from "../uploads/use-upload-batch.ts";
import { CategoryChoice } from "./category-choice.tsx";
import { ConsentCheck } from "./consent-check.tsx";
import { frameProportion } from "./frame-proportion.ts";
import { EngineChoice } from "./engine.tsx";
import { MaskButton } from "./mask/mask-button.tsx";
import { InputFrame } from "./input-frame.tsx";
import { ResultFrame } from "./result-frame.tsx";
import { RunActions } from "./run-actions.tsx";
import { useRun } from "./run.ts";
import { useSlot } from "./inputs.tsx";
import { useStudio } from "./use-studio.ts";
import { useStudioRemix } from "./use-studio-remix.ts";

/** Person, garment, result: the three frames of the studio. */
export function Studio() {
  const { jobId, personId } = useStudio();
  useStudioRemix();
  const person = useSlot("person");
  const garment = useSlot("garment");
  const { run, canRun, isSubmitting, isConsentMissed } = useRun(person.imageId, garment.imageId);
  const { data: personImage } = useImage(personId);

  const uploadBatch = useUploadBatch();
  // More than the frames can take go to the gallery.
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
    <div className="grid gap-x-6 gap-y-10 px-4 pt-2 sm:px-6 sm:grid-cols-2 wide:grid-cols-[1fr_1fr_1.35fr] wide:px-8 xl:gap-x-8">
      <InputFrame slot="person" state={person}>
        <ConsentCheck personId={person.imageId} isMissed={isConsentMissed} />
        <MaskButton personId={person.imageId} />
      </InputFrame>
      <InputFrame slot="garment" state={garment}>
        <CategoryChoice personId={person.imageId} />
        <EngineChoice personId={person.imageId} />
      </InputFrame>
      <ResultFrame jobId={jobId} proportion={frameProportion(personImage)}>
        <RunActions jobId={jobId} canRun={canRun} isSubmitting={isSubmitting} onRun={run} />
      </ResultFrame>
    </div>
  );
}
