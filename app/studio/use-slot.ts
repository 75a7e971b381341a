"use client";
import { useCallback, useState } from "react";
import { useImage } from "../data/use-image.ts";
import { addUpload, dropUpload, type Upload } from "../uploads/upload-store.ts";
import { useUpload } from "../uploads/use-uploads.ts";
import { type Slot, studio } from "./studio-store.ts";
import { useStudio } from "./use-studio.ts";

const fieldOf = { person: "personId", garment: "garmentId" } as const;

export interface SlotState {
  readonly imageId: string | null;
  readonly upload: Upload | undefined;
  readonly put: (file: File) => void;
  readonly choose: (imageId: string) => void;
  readonly clear: () => void;
}

/** One of the two pictures on the table: the stored one, or one on its way up. */
export function useSlot(slot: Slot): SlotState {
  const imageId = useStudio()[fieldOf[slot]];
  const [uploadId, setUploadId] = useState<string | null>(null);
  const upload = useUpload(uploadId);
  const { isError } = useImage(imageId);

  const choose = useCallback((id: string) => studio.set({ [fieldOf[slot]]: id, jobId: null }), [slot]);
  const put = useCallback(
    (file: File) => {
      if (uploadId !== null) dropUpload(uploadId);
      const next = addUpload(file, (image) => {
        choose(image.id);
        dropUpload(next);
      });
      setUploadId(next);
    },
    [choose, uploadId],
  );
  const clear = useCallback(() => {
    if (uploadId !== null) dropUpload(uploadId);
    setUploadId(null);
    studio.set({ [fieldOf[slot]]: null, jobId: null });
  }, [slot, uploadId]);
  return { imageId: isError ? null : imageId, upload, put, choose, clear };
}
