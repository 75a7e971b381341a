"use client";
import { ChevronLeft, ChevronRight } from "lucide-react";
import { useTranslations } from "next-intl";
import { type PointerEvent, useRef, useState, useSyncExternalStore, ViewTransition } from "react";
import type { ImageView } from "@atelier/server/images";
import { imageUrl } from "../../client/urls.ts";
import { CompareSlider } from "../../pictures/compare-slider.tsx";
import { AiBadge, Picture, useImageName } from "../../pictures/picture.tsx";
import { cx, IconButton } from "../../ui/button.tsx";
import { fitBox, useBoxSize } from "../../ui/box-size.ts";

const minSwipePx = 56;

/** Whether the page is enlarged by two fingers: then one finger moves it about, in every direction. */
function usePinched(): boolean {
  const viewport = typeof window === "undefined" ? null : window.visualViewport;
  return useSyncExternalStore(
    (listener) => {
      viewport?.addEventListener("resize", listener);
      return () => viewport?.removeEventListener("resize", listener);
    },
    () => (viewport?.scale ?? 1) > 1.01,
    () => false,
  );
}

/** Handlers for a horizontal swipe to the next or the previous picture. */
function useSwipe(onLeft: () => void, onRight: () => void) {
  const from = useRef<{ readonly x: number; readonly y: number } | null>(null);
  return {
    onPointerDown: (event: PointerEvent) => {
      from.current =
        event.pointerType === "touch" && event.isPrimary ? { x: event.clientX, y: event.clientY } : null;
    },
    onPointerUp: (event: PointerEvent) => {
      if (from.current === null || !event.isPrimary) return;
      const dx = event.clientX - from.current.x;
      const dy = event.clientY - from.current.y;
      from.current = null;
      if (Math.abs(dx) < minSwipePx || Math.abs(dy) > Math.abs(dx)) return;
      if (dx < 0) onLeft();
      else onRight();
    },
    onPointerCancel: () => {
      from.current = null;
    },
  };
}

/** Limit for enlarging a small picture, which would become blurred. */
const maxEnlargement = 1.5;

interface Sized {
  readonly widthPx: number;
  readonly heightPx: number;
}

/** The size of a picture in the viewer, in CSS px. */
function viewerBox(room: { readonly width: number; readonly height: number }, picture: Sized) {
  return fitBox(
    {
      width: Math.min(room.width, picture.widthPx * maxEnlargement),
      height: Math.min(room.height, picture.heightPx * maxEnlargement),
    },
    picture,
  );
}

interface Props {
  readonly image: ImageView;
  readonly compareWith: string | null;
  /** The view transition connects this picture with its tile while the viewer opens and closes. */
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
  const isPinched = usePinched();
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
        {...(compareWith === null && !isPinched ? swipe : {})}
        className={cx(
          "absolute inset-x-0 inset-y-0 flex items-center justify-center sm:inset-x-14 sm:bottom-6",
          isPinched ? "touch-auto" : "touch-pan-y touch-pinch-zoom",
        )}
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
          {image.isAi ? (
            <span className="pointer-events-none absolute right-2 bottom-2">
              <AiBadge />
            </span>
          ) : null}
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
