"use client";
import { type KeyboardEvent, useState } from "react";
import type { Size } from "@atelier/server/retouch";
import type { ImageView } from "@atelier/server/images";
import { imageUrl } from "../client/urls.ts";
import {
  closerScale,
  movedView,
  takesArrow,
  useZoomKeys,
  useZoomPointers,
  useZoomWheel,
  zoomOfKey,
} from "../pictures/zoom.ts";
import { ZoomControls } from "../pictures/zoom-controls.tsx";
import { cx } from "../ui/button.tsx";
import { useBoxSize } from "../ui/box-size.ts";
import { isCombined, keyOf } from "../ui/key-press.ts";
import { type Point, panView, type View, zoomView } from "../ui/zoom.ts";
import { paneOf, type Sized, whole } from "./geometry.ts";

/** One view for all panes: they show the same part of their pictures, also where these differ in size. */
export function useLinkedView() {
  const [view, change] = useState(whole);
  return { view, change };
}

type LinkedView = ReturnType<typeof useLinkedView>;
function usePaneZoom(box: Size, picture: Sized, linked: LinkedView) {
  const { fitted, range, shown, change } = paneOf(box, picture);
  const view = shown(linked.view);
  const isClose = linked.view.zoom > 1;
  const act = (next: (from: View) => View) =>
    linked.change((before) => (box.width === 0 ? before : change(before, next)));
  const zoom = (factor: number, at: Point = { x: box.width / 2, y: box.height / 2 }) =>
    act((from) => zoomView(from, at, factor, range));
  const fit = () => linked.change(whole);
  return {
    view,
    isClose,
    /** Pixels of the screen for one of the picture. */
    zoomed: typeof devicePixelRatio === "undefined" ? view.scale : view.scale * devicePixelRatio,
    zoom,
    pan: (dx: number, dy: number) => act((from) => panView(from, dx, dy)),
    canMove: (by: Point) => isClose && movedView(view, by, box, picture) !== null,
    fit,
    toggle: (at?: Point) => {
      if (isClose) fit();
      else zoom(closerScale(fitted, 1 / devicePixelRatio) / fitted.scale, at);
    },
  };
}

interface PaneProps {
  readonly image: Pick<ImageView, "id" | "widthPx" | "heightPx">;
  readonly linked: LinkedView;
  readonly alt: string;
  /** Shown over the picture. */
  readonly label?: string;
  /** By default the label. */
  readonly name?: string;
  /** Drawn over the picture as the difference to it. */
  readonly differenceTo?: string;
  /** Takes the keys of the whole page and shows how large it is; by default a pane takes keys while it has the focus. */
  readonly takesKeys?: boolean;
}

/** Longer than a preview: then the pixels of the original are seen. */
const previewPx = 1_280;
/** From here on each px of the picture is a square on the screen. */
const sharpFrom = 2;

interface DrawnProps extends Pick<PaneProps, "image" | "alt" | "differenceTo"> {
  readonly zoom: ReturnType<typeof usePaneZoom>;
}

/** The picture in its pane, or what is different from another one. */
function Drawn({ image, zoom, alt, differenceTo }: DrawnProps) {
  const { view, zoomed, isClose } = zoom;
  const [width, height] = [image.widthPx * view.scale, image.heightPx * view.scale];
  const isLarge = Math.max(width, height) > previewPx;
  const url = (id: string) => imageUrl(id, isLarge ? "original" : "preview");
  const look = cx(
    "absolute inset-0 size-full select-none",
    isClose && zoomed >= sharpFrom && "[image-rendering:pixelated]",
  );
  return (
    <div
      className={cx("absolute isolate", differenceTo === undefined ? "checker" : "bg-black brightness-200")}
      style={{ width, height, left: view.x, top: view.y }}
    >
      <img src={url(image.id)} alt={alt} draggable={false} className={look} />
      {differenceTo === undefined ? null : (
        <img
          src={url(differenceTo)}
          alt=""
          draggable={false}
          className={cx(look, "object-contain mix-blend-difference")}
        />
      )}
    </div>
  );
}

/** A picture that is zoomed by wheel, fingers, a double click and keys, and moved by dragging and the arrow keys. */
export function Pane(props: PaneProps) {
  const { image, linked, alt, label, name = label ?? alt, differenceTo, takesKeys } = props;
  const [element, setElement] = useState<HTMLDivElement | null>(null);
  const box = useBoxSize(element);
  const zoom = usePaneZoom(box, image, linked);
  const pointers = useZoomPointers(zoom);
  useZoomWheel(element, zoom);
  useZoomKeys(takesKeys === true ? zoom : null);
  function press(event: KeyboardEvent): void {
    if (isCombined(event)) return;
    const act = keyOf(event) === "0" ? zoom.fit : zoomOfKey(event);
    if (!takesArrow(event, zoom) && act === undefined) return;
    event.preventDefault();
    act?.(zoom);
  }
  return (
    <div className="relative min-h-0 min-w-0 flex-1">
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- of role application, like the stage */}
      <div
        ref={setElement}
        role="application"
        aria-label={name}
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- the pane takes keyboard input for zoom and pan
        tabIndex={0}
        {...pointers}
        onKeyDown={takesKeys === undefined ? press : undefined}
        className={cx(
          "absolute inset-0 touch-none overflow-hidden focus-visible:-outline-offset-2",
          zoom.isClose && "cursor-grab active:cursor-grabbing",
        )}
      >
        <Drawn image={image} zoom={zoom} alt={alt} differenceTo={differenceTo} />
        {label === undefined ? null : (
          <span className="pointer-events-none absolute top-2 inset-s-2 rounded-[4px] bg-black/60 px-1.5 py-0.5 text-[11px] font-medium text-white">
            {label}
          </span>
        )}
      </div>
      {zoom.isClose && takesKeys === true ? (
        <ZoomControls zoomed={zoom.zoomed} onZoom={zoom.zoom} onFit={zoom.fit} />
      ) : null}
    </div>
  );
}
