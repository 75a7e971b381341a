"use client";
import { type KeyboardEvent, type PointerEvent, type ReactNode, useEffect, useRef, useState } from "react";
import type { ImageView } from "@atelier/server/images";
import { imageUrl } from "../../client/urls.ts";
import { cx } from "../../ui/button.tsx";
import { fitBox, useBoxSize } from "../../ui/box-size.ts";
import { isCombined } from "../../ui/key-press.ts";
import { listenForZoom } from "../../ui/zoom.ts";
import type { SavedView } from "./state.ts";

const whole: SavedView = { zoom: 1, centreX: 0.5, centreY: 0.5 };
const [leastZoom, mostZoom] = [1, 32];
const bound = (value: number) => Math.min(1, Math.max(0, value));

/** One view for all panes: they show the same part of their pictures, also where these differ in size. */
export function useLinkedView() {
  const [view, setView] = useState(whole);
  /** `at` is the point that stays in place, in parts of the picture from its middle on the stage. */
  const zoom = (factor: number, at = { x: 0, y: 0 }) =>
    setView(({ zoom: before, centreX, centreY }) => {
      const next = Math.min(mostZoom, Math.max(leastZoom, before * factor));
      const moved = 1 - before / next;
      return { zoom: next, centreX: bound(centreX + at.x * moved), centreY: bound(centreY + at.y * moved) };
    });
  const pan = (dx: number, dy: number) =>
    setView((before) => ({
      ...before,
      centreX: bound(before.centreX + dx),
      centreY: bound(before.centreY + dy),
    }));
  return { view, zoom, pan, fit: () => setView(whole) };
}

type LinkedView = ReturnType<typeof useLinkedView>;

interface PaneProps {
  readonly image: Pick<ImageView, "id" | "widthPx" | "heightPx">;
  readonly linked: LinkedView;
  readonly alt: string;
  readonly label?: string;
  /** Drawn over the picture as the difference to it. */
  readonly differenceTo?: string;
}

const step = 0.08;

/** A picture that is zoomed by the wheel and plus and minus, and moved by dragging and the arrow keys. */
export function Pane({ image, linked, alt, label, differenceTo }: PaneProps) {
  const [element, setElement] = useState<HTMLDivElement | null>(null);
  const box = useBoxSize(element);
  const { view, zoom, pan, fit } = linked;
  const fitted = fitBox(box, image);
  const [width, height] = [fitted.width * view.zoom, fitted.height * view.zoom];
  const latest = useRef({ zoom, width, height });
  useEffect(() => {
    latest.current = { zoom, width, height };
  });
  useEffect(() => {
    if (element === null) return undefined;
    return listenForZoom(element, (factor, { clientX, clientY }) => {
      const now = latest.current;
      const at = element.getBoundingClientRect();
      now.zoom(factor, {
        x: (clientX - at.left - at.width / 2) / Math.max(1, now.width),
        y: (clientY - at.top - at.height / 2) / Math.max(1, now.height),
      });
    });
  }, [element]);

  function drag(event: PointerEvent<HTMLDivElement>): void {
    if (event.buttons !== 1) return;
    event.currentTarget.setPointerCapture(event.pointerId);
    pan(-event.movementX / Math.max(1, width), -event.movementY / Math.max(1, height));
  }
  function press(event: KeyboardEvent): void {
    const part = step / view.zoom;
    const acts: Record<string, () => void> = {
      "+": () => zoom(1.25),
      "=": () => zoom(1.25),
      "-": () => zoom(0.8),
      "0": fit,
      ArrowLeft: () => pan(-part, 0),
      ArrowRight: () => pan(part, 0),
      ArrowUp: () => pan(0, -part),
      ArrowDown: () => pan(0, part),
    };
    const act = acts[event.key];
    if (act === undefined || isCombined(event)) return;
    event.preventDefault();
    act();
  }
  const isLarge = Math.max(width, height) > 1_400;
  const url = (id: string) => imageUrl(id, isLarge ? "original" : "preview");
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- of role application, like the stage
    <div
      ref={setElement}
      role="application"
      aria-label={label ?? alt}
      // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- the pane takes keyboard input for zoom and pan
      tabIndex={0}
      onPointerMove={drag}
      onKeyDown={press}
      className="relative min-h-0 min-w-0 flex-1 cursor-grab touch-none overflow-hidden focus-visible:-outline-offset-2 active:cursor-grabbing"
    >
      <div
        className={cx("absolute isolate", differenceTo === undefined ? "checker" : "bg-black brightness-200")}
        style={{
          width,
          height,
          left: box.width / 2 - view.centreX * width,
          top: box.height / 2 - view.centreY * height,
        }}
      >
        <img
          src={url(image.id)}
          alt={alt}
          draggable={false}
          className="absolute inset-0 size-full select-none"
        />
        {differenceTo === undefined ? null : (
          <img
            src={url(differenceTo)}
            alt=""
            draggable={false}
            className="absolute inset-0 size-full mix-blend-difference select-none"
          />
        )}
      </div>
      {label === undefined ? null : <PaneLabel>{label}</PaneLabel>}
    </div>
  );
}

function PaneLabel({ children }: { readonly children: ReactNode }) {
  return (
    <span className="pointer-events-none absolute top-2 inset-s-2 rounded-[4px] bg-black/60 px-1.5 py-0.5 text-[11px] font-medium text-white">
      {children}
    </span>
  );
}
