"use client";
import { type KeyboardEvent, useCallback, useEffect, useMemo, useState } from "react";
import { useBoxSize } from "../ui/hooks.ts";
import type { SavedView } from "./document/state.ts";
import type { Stroke } from "./mask.ts";
import type { Point } from "./selection.ts";
import type { Brush } from "./session.ts";

/** Position of the picture on the stage: one picture px is `scale` CSS px, its corner is at (x, y). */
interface View {
  readonly scale: number;
  readonly x: number;
  readonly y: number;
}

interface Size {
  readonly width: number;
  readonly height: number;
}

const minScale = 0.02;
const maxScale = 16;
const marginPx = 24;

/** A view that shows the whole picture in the middle, at most at twice its size. */
export function fitView(stage: Size, picture: Size): View {
  const room = {
    width: Math.max(1, stage.width - marginPx * 2),
    height: Math.max(1, stage.height - marginPx * 2),
  };
  const scale = Math.min(room.width / picture.width, room.height / picture.height, 2);
  return {
    scale,
    x: (stage.width - picture.width * scale) / 2,
    y: (stage.height - picture.height * scale) / 2,
  };
}

/** Zooms so that the picture point under `at` (stage px) stays in place. */
export function zoomView(view: View, at: Point, factor: number): View {
  const scale = Math.min(maxScale, Math.max(minScale, view.scale * factor));
  const grown = scale / view.scale;
  return { scale, x: at.x - (at.x - view.x) * grown, y: at.y - (at.y - view.y) * grown };
}

function panView(view: View, dx: number, dy: number): View {
  return { ...view, x: view.x + dx, y: view.y + dy };
}

/** Converts a point of the stage to px of the picture. */
export function toPicture(view: View, at: Point): Point {
  return { x: (at.x - view.x) / view.scale, y: (at.y - view.y) / view.scale };
}

interface BoxSize {
  readonly widthPx: number;
  readonly heightPx: number;
}

/** Where a stage was left, and how it tells where it is looked at; null is the whole picture. */
export interface Look {
  readonly read: () => SavedView | null;
  readonly note: (view: SavedView | null) => void;
}

interface Framed {
  readonly stage: Size;
  readonly picture: Size;
  readonly fitted: View;
}

export function toRelative(view: View, { stage, picture, fitted }: Framed): SavedView {
  const middle = toPicture(view, { x: stage.width / 2, y: stage.height / 2 });
  return {
    zoom: view.scale / fitted.scale,
    centreX: middle.x / picture.width,
    centreY: middle.y / picture.height,
  };
}

export function fromRelative(
  { zoom, centreX, centreY }: SavedView,
  { stage, picture, fitted }: Framed,
): View {
  const scale = Math.min(maxScale, Math.max(minScale, fitted.scale * zoom));
  return {
    scale,
    x: stage.width / 2 - centreX * picture.width * scale,
    y: stage.height / 2 - centreY * picture.height * scale,
  };
}

/** The view of a stage: as it was left, else fitted, until the user moves it. */
export function useView(stage: HTMLElement | null, picture: BoxSize, look?: Look) {
  const size = useBoxSize(stage);
  const [moved, setMoved] = useState<View | null>(null);
  const [left, setLeft] = useState(() => look?.read() ?? null);
  const { widthPx, heightPx } = picture;
  const framed = useMemo(() => {
    const whole = { width: widthPx, height: heightPx };
    return { stage: size, picture: whole, fitted: fitView(size, whole) };
  }, [size, widthPx, heightPx]);
  const start = useMemo(
    () => (left === null || size.width === 0 ? framed.fitted : fromRelative(left, framed)),
    [framed, left, size.width],
  );
  const view = moved ?? start;

  const zoom = useCallback(
    (factor: number, at?: Point) => {
      const middle = { x: size.width / 2, y: size.height / 2 };
      setMoved((before) => zoomView(before ?? start, at ?? middle, factor));
    },
    [size.height, size.width, start],
  );
  const pan = useCallback(
    (dx: number, dy: number) => setMoved((before) => panView(before ?? start, dx, dy)),
    [start],
  );
  const fit = useCallback(() => {
    setMoved(null);
    setLeft(null);
  }, []);
  const note = look?.note;
  useEffect(() => {
    if (moved !== null) note?.(toRelative(moved, framed));
    else if (left === null) note?.(null);
  }, [framed, left, moved, note]);

  useEffect(() => {
    if (stage === null) return undefined;
    const wheel = (event: WheelEvent) => {
      event.preventDefault();
      const box = stage.getBoundingClientRect();
      zoom(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0015)), {
        x: event.clientX - box.left,
        y: event.clientY - box.top,
      });
    };
    // React's own wheel listener is passive and cannot prevent the page from scrolling.
    stage.addEventListener("wheel", wheel, { passive: false });
    return () => stage.removeEventListener("wheel", wheel);
  }, [stage, zoom]);
  return { view, size, zoom, pan, fit };
}

export type StageView = ReturnType<typeof useView>;

interface UseStageKeysOptions {
  readonly stage: StageView;
  readonly brush: Brush;
  readonly picture: { readonly widthPx: number; readonly heightPx: number };
  readonly onStroke: (stroke: Stroke) => void;
  readonly onClick: (at: Point, isExcluding: boolean) => void;
}

const directions: Record<string, Point> = {
  ArrowLeft: { x: -1, y: 0 },
  ArrowRight: { x: 1, y: 0 },
  ArrowUp: { x: 0, y: -1 },
  ArrowDown: { x: 0, y: 1 },
};
const panStepPx = 48;
const bound = (value: number, most: number) => Math.min(most, Math.max(0, value));

/** Painting, panning and zooming without a pointer; `cursor` is the keyboard's brush position in px of the picture. */
export function useStageKeys({ stage, brush, picture, onStroke, onClick }: UseStageKeysOptions) {
  const [cursor, setCursor] = useState<Point | null>(null);
  const [isPanning, setPanning] = useState(false);

  function moveCursor({ x, y }: Point, stepPx: number): void {
    setCursor((before) => {
      const from = before ?? { x: picture.widthPx / 2, y: picture.heightPx / 2 };
      return {
        x: bound(from.x + x * stepPx, picture.widthPx),
        y: bound(from.y + y * stepPx, picture.heightPx),
      };
    });
  }
  function stamp(isExcluding: boolean): void {
    if (cursor === null || brush.tool === "pan") return;
    if (brush.tool === "select") onClick(cursor, isExcluding);
    else
      onStroke({ mode: brush.tool === "eraser" ? "erase" : "paint", sizePx: brush.sizePx, points: [cursor] });
  }
  function stepOf(isFar: boolean): number {
    if (brush.tool === "select") return (isFar ? 64 : 8) / stage.view.scale;
    return isFar ? brush.sizePx * 2 : Math.max(2, brush.sizePx / 3);
  }
  function act(event: KeyboardEvent): boolean {
    const direction = directions[event.key];
    if (direction !== undefined) {
      if (brush.tool === "pan") stage.pan(-direction.x * panStepPx, -direction.y * panStepPx);
      else moveCursor(direction, stepOf(event.shiftKey));
      return true;
    }
    if (event.key === "Enter" || (event.key === " " && cursor !== null)) stamp(event.shiftKey);
    else if (event.key === " ") setPanning(true);
    else if (event.key === "+" || event.key === "=") stage.zoom(1.25);
    else if (event.key === "-") stage.zoom(0.8);
    else if (event.key === "0") stage.fit();
    else return false;
    return true;
  }
  const handlers = {
    onKeyDown: (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (act(event)) event.preventDefault();
    },
    onKeyUp: (event: KeyboardEvent) => event.key === " " && setPanning(false),
  };
  return { handlers, cursor, isPanning, hideCursor: () => setCursor(null) };
}
