"use client";
import { useCallback, useState } from "react";
import { useIsGone } from "../data/use-is-gone.ts";
import { addUpload, dropUpload, type Upload } from "../uploads/store.ts";
import { useUpload } from "../uploads/use-uploads.ts";
import { readSlot } from "./read-slot.ts";
import { type Slot, studio } from "./studio-store.ts";
import { useStudio } from "./use-studio.ts";

const fieldOf = { person: "personId", garment: "garmentId" } as const;

/** Outlives the page, because its upload does. */
const uploadIdBySlot = new Map<Slot, string>();

export interface SlotState {
  /** The picture to run with; null while another is on its way up. */
  readonly imageId: string | null;
  readonly isFree: boolean;
  readonly upload: Upload | undefined;
  readonly put: (file: File) => void;
  readonly choose: (imageId: string) => void;
  /** Takes only the upload away; the picture it was to replace comes back. */
  readonly cancelUpload: () => void;
  readonly clear: () => void;
}

/** One of the two pictures on the table: the stored one, or one on its way up. */
export function useSlot(slot: Slot): SlotState {
  const storedId = useStudio()[fieldOf[slot]];
  const [uploadId, setUploadId] = useState<string | null>(() => uploadIdBySlot.get(slot) ?? null);
  const upload = useUpload(uploadId);
  const isGone = useIsGone(storedId);

  const cancelUpload = useCallback(() => {
    const running = uploadIdBySlot.get(slot);
    if (running !== undefined) dropUpload(running);
    uploadIdBySlot.delete(slot);
    setUploadId(null);
  }, [slot]);
  const choose = useCallback(
    (id: string) => {
      cancelUpload();
      studio.set({ [fieldOf[slot]]: id, jobId: null });
    },
    [cancelUpload, slot],
  );
  const put = useCallback(
    (file: File) => {
      cancelUpload();
      const next = addUpload(file, (image) => choose(image.id));
      uploadIdBySlot.set(slot, next);
      setUploadId(next);
    },
    [cancelUpload, choose, slot],
  );
  const clear = useCallback(() => {
    cancelUpload();
    studio.set({ [fieldOf[slot]]: null, jobId: null });
  }, [cancelUpload, slot]);
  return { ...readSlot({ storedId, isGone, upload }), upload, put, choose, cancelUpload, clear };
}
