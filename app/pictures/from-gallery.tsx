"use client";
import { type ReactNode, useState } from "react";
import { useFailureToast } from "../ui/failures.ts";
import { later } from "../ui/later.tsx";

const PicturePicker = later(async () => (await import("./picture-picker.tsx")).PicturePicker);

export interface GalleryChoice {
  /** Not offered: the picture that is edited, and what is chosen already. */
  readonly leftOut: readonly string[];
  /** As many may be chosen at once. */
  readonly most: number;
  readonly onChoose: (imageIds: readonly string[]) => void;
}

interface FromGalleryProps extends GalleryChoice {
  /** The button that opens the choice. */
  readonly children: (open: () => void) => ReactNode;
}

/** A choice among all pictures of the gallery, behind a button. */
export function FromGallery({ children, ...choice }: FromGalleryProps) {
  const showFailure = useFailureToast();
  const [isOpen, setOpen] = useState(false);
  const onFailure = (error: unknown) => {
    setOpen(false);
    showFailure(error);
  };
  return (
    <>
      {children(() => setOpen(true))}
      <PicturePicker
        isWanted={isOpen}
        onFailure={onFailure}
        props={{ ...choice, isOpen, onOpenChange: setOpen }}
      />
    </>
  );
}
