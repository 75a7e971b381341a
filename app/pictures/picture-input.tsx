"use client";
import { useQuery } from "@tanstack/react-query";
import { useTranslations } from "next-intl";
import { useCallback, useState } from "react";
import { api } from "../client/api.ts";
import { keys } from "../client/queries.ts";
import { useImageName } from "./picture.tsx";
import { PictureStrip } from "./picture-strip.tsx";
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

const shown = 30;
const filters = { limit: shown, order: "added" } as const;

interface GalleryStripProps {
  readonly title: string;
  /** Left out: the picture that is edited, and what is chosen already. */
  readonly leftOut: readonly string[];
  readonly chosenId: string | null;
  readonly onChoose: (imageId: string) => void;
}

/** The pictures that came last into the gallery to choose one of. */
export function GalleryStrip({ title, leftOut, chosenId, onChoose }: GalleryStripProps) {
  const t = useTranslations("pictures");
  const nameOf = useImageName();
  const { data } = useQuery({
    queryKey: keys.imageList(filters),
    queryFn: () => api.images.list.query(filters),
  });
  const pictures = (data?.items ?? []).flatMap((image) =>
    leftOut.includes(image.id)
      ? []
      : [{ id: image.id, thumbhash: image.thumbhash, label: t("usePicture", { name: nameOf(image) }) }],
  );
  return <PictureStrip title={title} pictures={pictures} chosenId={chosenId} onChoose={onChoose} />;
}
