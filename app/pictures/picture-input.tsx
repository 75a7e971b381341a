"use client";
import { useCallback, useState } from "react";
import { useFileTarget, useUploadBatch } from "../uploads/drop.tsx";
import { addUpload, dropUpload, useUploads } from "../uploads/store.ts";

interface Uploading {
  /** As many of the files are taken; the others only come into the gallery. */
  readonly most: number;
  readonly onStored: (imageId: string) => void;
}

/** Files that are on their way to be pictures of a mode. */
export function usePictureUploads({ most, onStored }: Uploading) {
  const [ids, setIds] = useState<readonly string[]>([]);
  const uploads = useUploads();
  const addToGallery = useUploadBatch();
  const upload = useCallback(
    (files: readonly File[]) => {
      const others = files.slice(most);
      if (others.length > 0) addToGallery(others);
      const begun = files.slice(0, most).map((file) => {
        const id: string = addUpload(file, (image) => {
          dropUpload(id);
          onStored(image.id);
        });
        return id;
      });
      setIds((before) => [...before, ...begun]);
    },
    [addToGallery, most, onStored],
  );
  const isUploading = uploads.some(
    ({ id, state }) => ids.includes(id) && (state === "waiting" || state === "sending"),
  );
  return { isUploading, upload };
}

/** What is dropped or pasted on the page comes here while this is shown. */
export function TakesFiles({ take }: { readonly take: (files: readonly File[]) => void }) {
  useFileTarget(take);
  return null;
}
