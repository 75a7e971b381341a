"use client";
import type { ImageView } from "@atelier/server/images";
import { ChevronLeft, ChevronRight } from "lucide-react";
import { useTranslations } from "next-intl";
import { useState, ViewTransition } from "react";
import { imageUrl } from "../../data/image-url.ts";
import { AiBadge } from "../../pictures/ai-badge.tsx";
import { CompareSlider } from "../../pictures/compare-slider.tsx";
import { Picture } from "../../pictures/picture.tsx";
import { useImageName } from "../../pictures/use-image-name.ts";
import { IconButton } from "../../ui/icon-button.tsx";
import { useBoxSize } from "../../ui/use-box-size.ts";
import { useSwipe } from "./use-swipe.ts";
import { viewerBox } from "./viewer-box.ts";

interface Props {
  readonly image: ImageView;
  readonly compareWith: string | null;
  /** Shares its place with its tile while the viewer opens and closes. */
  readonly grows: boolean;
  readonly previous: string | undefined;
  readonly next: string | undefined;
  readonly onMove: (id: string) => void;
}

export function ViewerPicture({ image, compareWith, grows, previous, next, onMove }: Props) {
  const t = useTranslations("viewer");
  const name = useImageName()(image);
  const [box, setBox] = useState<HTMLDivElement | null>(null);
  const swipe = useSwipe(
    () => next !== undefined && onMove(next),
    () => previous !== undefined && onMove(previous),
  );
  const size = viewerBox(useBoxSize(box), image);
  const picture = (
    <Picture
      key={image.id}
      imageId={image.id}
      variant="preview"
      thumbhash={image.thumbhash}
      alt={name}
      fit="contain"
      eager
      className="checker size-full"
    />
  );
  return (
    <div className="relative min-h-0 flex-1">
      <div
        ref={setBox}
        {...(compareWith === null ? swipe : {})}
        className="absolute inset-x-0 inset-y-0 flex touch-pan-y items-center justify-center sm:inset-x-14 sm:bottom-6"
      >
        <div className="relative" style={size}>
          {compareWith === null && grows ? (
            <ViewTransition name={`picture-${image.id}`} share="picture" default="none">
              {picture}
            </ViewTransition>
          ) : null}
          {compareWith === null && !grows ? picture : null}
          {compareWith === null ? null : (
            <CompareSlider
              key={image.id}
              beforeUrl={imageUrl(compareWith, "preview")}
              afterUrl={imageUrl(image.id, "preview")}
              afterAlt={name}
              className="size-full"
            />
          )}
          {image.kind === null ? null : (
            <span className="pointer-events-none absolute right-2 bottom-2">
              <AiBadge />
            </span>
          )}
        </div>
      </div>
      <IconButton
        label={t("previous")}
        keys="ArrowLeft"
        disabled={previous === undefined}
        onClick={() => previous !== undefined && onMove(previous)}
        className="absolute top-1/2 left-2 -mt-4.5 max-sm:bg-black/40"
      >
        <ChevronLeft aria-hidden />
      </IconButton>
      <IconButton
        label={t("next")}
        keys="ArrowRight"
        disabled={next === undefined}
        onClick={() => next !== undefined && onMove(next)}
        className="absolute top-1/2 right-2 -mt-4.5 max-sm:bg-black/40"
      >
        <ChevronRight aria-hidden />
      </IconButton>
    </div>
  );
}
