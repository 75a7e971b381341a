"use client";
import { useCallback, useState } from "react";
import { addUpload, dropUpload } from "../../uploads/store.ts";
import { useUpload } from "../../uploads/use-uploads.ts";

/** The second picture of a change by words: there, on its way up, or none. */
export function useReference(startId: string | null) {
  const [imageId, setImageId] = useState(startId);
  const [uploadId, setUploadId] = useState<string | null>(null);
  const state = useUpload(uploadId)?.state;
  const put = useCallback(
    (files: readonly File[]) => {
      const [file] = files;
      if (file === undefined) return;
      if (uploadId !== null) dropUpload(uploadId);
      const id = addUpload(file, (image) => {
        dropUpload(id);
        setImageId(image.id);
      });
      setUploadId(id);
    },
    [uploadId],
  );
  const clear = useCallback(() => setImageId(null), []);
  return { imageId, isSending: state === "waiting" || state === "sending", put, clear };
}
