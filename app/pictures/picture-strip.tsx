"use client";
import type { ReactNode } from "react";
import { Picture } from "./picture.tsx";

interface StripPicture {
  /** Of the picture, and the value of the choice. */
  readonly id: string;
  readonly thumbhash: string;
  /** The accessible name. */
  readonly label: string;
}

interface PictureStripProps {
  readonly title: string;
  readonly pictures: readonly StripPicture[];
  readonly chosenId: string | null;
  readonly onChoose: (imageId: string) => void;
  /** Beside the title: the way to further pictures. */
  readonly children?: ReactNode;
}

/** Pictures to choose one of, as a row of thumbnails that scrolls sideways; nothing without pictures. */
export function PictureStrip({ title, pictures, chosenId, onChoose, children }: PictureStripProps) {
  if (pictures.length === 0) return null;
  return (
    <div className="mt-1 flex flex-col gap-2">
      <div className="flex items-center justify-between gap-2 text-xs text-quiet">
        <p aria-hidden>{title}</p>
        {children}
      </div>
      <ul aria-label={title} className="no-scrollbar -m-1 flex gap-1.5 overflow-x-auto p-1">
        {pictures.map(({ id, thumbhash, label }) => (
          <li key={id} className="shrink-0">
            <button
              type="button"
              aria-label={label}
              aria-pressed={id === chosenId}
              onClick={() => onChoose(id)}
              className="block size-12 overflow-hidden rounded-control ring-1 ring-line transition duration-150 hover:ring-2 hover:ring-ink aria-pressed:ring-2 aria-pressed:ring-accent"
            >
              <Picture imageId={id} variant="thumbnail" thumbhash={thumbhash} alt="" className="size-full" />
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}
