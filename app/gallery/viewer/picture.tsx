"use client";
import { ChevronLeft, ChevronRight } from "lucide-react";
import { useTranslations } from "next-intl";
import { type ReactNode, useEffect, useRef, useState, useSyncExternalStore, ViewTransition } from "react";
import type { ImageView } from "@atelier/server/images";
import { imageUrl } from "../../client/urls.ts";
import { CompareSlider } from "../../pictures/compare-slider.tsx";
import { AiBadge, Picture, useImageName } from "../../pictures/picture.tsx";
import { cx, IconButton } from "../../ui/button.tsx";
import { ZoomControls } from "../../pictures/zoom-controls.tsx";
import type { View } from "../../ui/zoom.ts";
import { useZoom, useZoomKeys, useZoomPointers, useZoomWheel } from "../../pictures/zoom.ts";

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

const moveTo = (view: View, whole: View) =>
  `translate(${view.x - whole.x}px, ${view.y - whole.y}px) scale(${view.scale / whole.scale})`;

const boxOf = ({ x, y, scale }: View, { widthPx, heightPx }: ImageView) => ({
  left: x,
  top: y,
  width: widthPx * scale,
  height: heightPx * scale,
});

/** From here on each px of the picture is a square on the screen. */
const sharpFrom = 2;

type AloneProps = Pick<Props, "image" | "grows"> & { readonly zoom: ReturnType<typeof useZoom> };

/** The picture by itself, whole or a part of it. Its preview is shown until the original, which is as sharp as it is, is read. */
function Alone({ image, zoom, grows }: AloneProps) {
  const name = useImageName()(image);
  const alt = image.description || name;
  const [isRead, setRead] = useState(false);
  const isSharp = zoom.isClose && zoom.zoomed >= sharpFrom;
  const picture = (
    <div className="relative size-full">
      {isRead ? null : (
        <Picture
          imageId={image.id}
          variant="preview"
          thumbhash={image.thumbhash}
          alt={alt}
          fit="contain"
          eager
          className="checker size-full"
        />
      )}
      {zoom.wasClose ? (
        <img
          src={imageUrl(image.id, "original")}
          alt={isRead ? alt : ""}
          draggable={false}
          decoding="sync"
          onLoad={() => setRead(true)}
          className={cx(
            "absolute inset-0 size-full",
            isRead ? "checker" : "opacity-0",
            isSharp && "[image-rendering:pixelated]",
          )}
        />
      ) : null}
    </div>
  );
  return (
    <div
      className="size-full origin-top-left"
      style={{ transform: zoom.isClose ? moveTo(zoom.view, zoom.whole) : "none" }}
    >
      {grows ? (
        <ViewTransition name={`picture-${image.id}`} share="picture" default="none">
          {picture}
        </ViewTransition>
      ) : (
        picture
      )}
    </div>
  );
}

interface StepProps {
  readonly to: string | undefined;
  readonly onMove: (id: string) => void;
  readonly children: ReactNode;
}

function Step({ name, to, onMove, children }: StepProps & { readonly name: "previous" | "next" }) {
  const t = useTranslations("viewer");
  return (
    <IconButton
      label={t(name)}
      keys={name === "next" ? "ArrowRight" : "ArrowLeft"}
      disabled={to === undefined}
      onClick={() => to !== undefined && onMove(to)}
      className={cx("absolute top-1/2 -mt-4.5 max-sm:bg-black/40", name === "next" ? "right-2" : "left-2")}
    >
      {children}
    </IconButton>
  );
}

function readPreview(id: string): HTMLImageElement {
  const picture = new Image();
  picture.fetchPriority = "low";
  picture.src = imageUrl(id, "preview");
  return picture;
}

/** Reads the pictures beside the shown one once that is there, so that the next key or swipe shows them at once. */
function useReadAhead(room: HTMLElement | null, { image, previous, next }: Props): void {
  const held = useRef<readonly HTMLImageElement[]>([]);
  useEffect(() => {
    const read = () => {
      held.current = [next, previous].flatMap((id) => (id === undefined ? [] : [readPreview(id)]));
    };
    if (room?.querySelector("img")?.complete === true) read();
    // A picture's own event reaches what is around it only on its way down.
    else room?.addEventListener("load", read, { capture: true, once: true });
    return () => room?.removeEventListener("load", read, { capture: true });
  }, [room, image.id, previous, next]);
}

/** What a touch does: it moves the picture, the line of a comparison, or the page that is enlarged. */
function touchOf(isAlone: boolean, isPinched: boolean): string {
  if (isPinched) return "touch-auto";
  return isAlone ? "touch-none" : "touch-pan-y touch-pinch-zoom";
}

interface Props {
  readonly image: ImageView;
  readonly compareWith: string | null;
  /** The view transition connects this picture with its tile while the viewer opens and closes. */
  readonly grows: boolean;
  readonly previous: string | undefined;
  readonly next: string | undefined;
  readonly onMove: (id: string) => void;
  readonly onClose: () => void;
}

export function ViewerPicture(props: Props) {
  const { image, compareWith, grows, previous, next, onMove, onClose } = props;
  const name = useImageName()(image);
  const [room, setRoom] = useState<HTMLDivElement | null>(null);
  const isPinched = usePinched();
  const isAlone = compareWith === null;
  const zoom = useZoom(room, image);
  const pointers = useZoomPointers(zoom, {
    onLeft: () => next !== undefined && onMove(next),
    onRight: () => previous !== undefined && onMove(previous),
    onDown: onClose,
  });
  useReadAhead(room, props);
  const isZoomable = isAlone && !isPinched;
  useZoomWheel(isZoomable ? room : null, zoom);
  useZoomKeys(isZoomable ? zoom : null);
  const isClose = isAlone && zoom.isClose;
  return (
    <div className={cx("relative min-h-0 flex-1", isClose && "overflow-hidden")}>
      <div
        ref={setRoom}
        {...(isZoomable ? pointers : {})}
        className={cx(
          "absolute inset-x-0 inset-y-0 select-none sm:inset-x-14 sm:bottom-6",
          touchOf(isAlone, isPinched),
          isClose && "cursor-grab active:cursor-grabbing",
        )}
      >
        <div className="absolute" style={boxOf(zoom.whole, image)}>
          {compareWith === null ? (
            <Alone key={image.id} image={image} zoom={zoom} grows={grows} />
          ) : (
            <CompareSlider
              key={image.id}
              beforeUrl={imageUrl(compareWith, "preview")}
              afterUrl={imageUrl(image.id, "preview")}
              afterAlt={image.description || name}
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
      {isClose ? <ZoomControls zoomed={zoom.zoomed} onZoom={zoom.zoom} onFit={zoom.fit} /> : null}
      <Step name="previous" to={previous} onMove={onMove}>
        <ChevronLeft aria-hidden />
      </Step>
      <Step name="next" to={next} onMove={onMove}>
        <ChevronRight aria-hidden />
      </Step>
    </div>
  );
}
