"use client";
import { Dialog } from "@base-ui/react/dialog";
import type { ImageView } from "@atelier/server/images";
import { useTranslations } from "next-intl";
import { useEffect, useRef, useState } from "react";
import { useImage } from "../../data/use-image.ts";
import type { ViewerAddress } from "./use-viewer-address.ts";
import { ViewerRoom } from "./viewer-room.tsx";

interface Props {
  readonly images: readonly ImageView[];
  readonly address: ViewerAddress;
}

/** The picture that the viewer was opened with: only this one grows out of its tile, and shrinks back. */
function useOpenedId(imageId: string | null): string | null {
  const [shownId, setShownId] = useState(imageId);
  const [openedId, setOpenedId] = useState(imageId);
  if (shownId !== imageId) {
    setShownId(imageId);
    if (shownId === null || imageId === null) setOpenedId(imageId);
  }
  return openedId;
}

/** The open picture over the sheet; closing returns the focus to its tile. */
export function Viewer({ images, address }: Props) {
  const t = useTranslations("viewer");
  const { imageId, close } = address;
  const openedId = useOpenedId(imageId);
  const listed = images.find((image) => image.id === imageId);
  const { data, isError } = useImage(imageId);
  const image = listed ?? data;
  const lastId = useRef(imageId);
  useEffect(() => {
    if (imageId !== null) lastId.current = imageId;
  }, [imageId]);
  const tile = () => document.querySelector<HTMLElement>(`[data-tile="${lastId.current}"]`);
  return (
    <Dialog.Root open={imageId !== null} onOpenChange={(open) => open || close()}>
      <Dialog.Portal>
        <Dialog.Popup
          data-viewer
          finalFocus={() => tile() ?? true}
          className="stage room fixed inset-0 z-50 flex flex-col outline-none wide:flex-row"
        >
          <Dialog.Title className="sr-only">{t("title")}</Dialog.Title>
          {image === undefined ? null : (
            <ViewerRoom image={image} grows={image.id === openedId} images={images} address={address} />
          )}
          {isError && image === undefined ? (
            <div className="m-auto flex flex-col items-center gap-4 text-sm">
              <p>{t("missing")}</p>
              <button type="button" onClick={close} className="underline underline-offset-4">
                {t("close")}
              </button>
            </div>
          ) : null}
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
