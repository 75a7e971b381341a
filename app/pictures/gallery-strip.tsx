"use client";
import { useQuery } from "@tanstack/react-query";
import { useTranslations } from "next-intl";
import { api } from "../client/api.ts";
import { keys } from "../client/queries.ts";
import { FromGallery, type GalleryChoice } from "./from-gallery.tsx";
import { useImageName } from "./picture.tsx";
import { PictureStrip } from "./picture-strip.tsx";

const shown = 30;
const filters = { limit: shown, order: "added" } as const;

interface GalleryStripProps extends GalleryChoice {
  readonly title: string;
  readonly chosenId: string | null;
}

/** The pictures that came last into the gallery to choose one of, and the way to all others. */
export function GalleryStrip({ title, chosenId, ...choice }: GalleryStripProps) {
  const t = useTranslations("pictures");
  const more = useTranslations("picker");
  const nameOf = useImageName();
  const { leftOut, onChoose } = choice;
  const { data } = useQuery({
    queryKey: keys.imageList(filters),
    queryFn: () => api.images.list.query(filters),
  });
  const pictures = (data?.items ?? []).flatMap((image) =>
    leftOut.includes(image.id)
      ? []
      : [{ id: image.id, thumbhash: image.thumbhash, label: t("usePicture", { name: nameOf(image) }) }],
  );
  return (
    <PictureStrip title={title} pictures={pictures} chosenId={chosenId} onChoose={(id) => onChoose([id])}>
      <FromGallery {...choice}>
        {(open) => (
          <button type="button" onClick={open} className="rounded-control underline-offset-2 hover:underline">
            {more("more")}
          </button>
        )}
      </FromGallery>
    </PictureStrip>
  );
}
