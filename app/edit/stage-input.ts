"use client";
import type { Size } from "@atelier/server/retouch";
import { type KeyboardEvent, useCallback, useEffect, useMemo, useState } from "react";
import { useBoxSize } from "../ui/box-size.ts";
import { isCombined } from "../ui/key-press.ts";
import {
  fromRelative,
  listenForZoom,
  panView,
  placeIn,
  type RelativeView,
  toRelative,
  type View,
  zoomView,
} from "../ui/zoom.ts";
import type { Point } from "./mask/selection.ts";
import type { ToolOptions } from "./session.ts";
import type { Gestures } from "./stage-pointers.ts";
import type { Pointed, Tool } from "./tools/tool.ts";

export const zoomRange = { min: 0.02, max: 16 };
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
  readonly read: () => RelativeView | null;
  readonly note: (view: RelativeView | null) => void;
}

/** The view of a stage: as it was left, else fitted, until the user moves it. */
export function useView(stage: HTMLElement | null, picture: BoxSize, look?: Look) {
  const size = useBoxSize(stage);
  const [moved, setMoved] = useState<View | null>(null);
  const [left, setLeft] = useState(() => look?.read() ?? null);
  const { widthPx, heightPx } = picture;
  const framed = useMemo(() => {
    const whole = { width: widthPx, height: heightPx };
    return { room: size, picture: whole, whole: fitView(size, whole) };
  }, [size, widthPx, heightPx]);
  const start = useMemo(
    () => (left === null || size.width === 0 ? framed.whole : fromRelative(left, framed, zoomRange)),
    [framed, left, size.width],
  );
  const view = moved ?? start;

  const zoom = useCallback(
    (factor: number, at?: Point) => {
      const middle = { x: size.width / 2, y: size.height / 2 };
      setMoved((before) => zoomView(before ?? start, at ?? middle, factor, zoomRange));
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
    return listenForZoom(stage, (factor, at) => zoom(factor, placeIn(stage, at)));
  }, [stage, zoom]);
  return { view, size, zoom, pan, fit };
}

export type StageView = ReturnType<typeof useView>;

interface UseStageKeysOptions {
  readonly stage: StageView;
  readonly tool: Tool;
  readonly picture: BoxSize;
  readonly options: Pick<ToolOptions, "sizePx">;
  readonly gestures: Gestures;
  readonly setPanning: (isPanning: boolean) => void;
}

const directions: Record<string, Point> = {
  ArrowLeft: { x: -1, y: 0 },
  ArrowRight: { x: 1, y: 0 },
  ArrowUp: { x: 0, y: -1 },
  ArrowDown: { x: 0, y: 1 },
};
const panStepPx = 48;
const bound = (value: number, most: number) => Math.min(most, Math.max(0, value));

/** Working with a tool, and panning, without a pointer; `cursor` is where the keyboard is, in px of the picture. */
export function useStageKeys({ stage, tool, picture, options, gestures, setPanning }: UseStageKeysOptions) {
  const [cursor, setCursor] = useState<Point | null>(null);
  const { sizePx } = options;
  const pointed = (at: Point, { shiftKey }: Pick<KeyboardEvent, "shiftKey">): Pointed => ({
    at,
    onStage: { x: stage.view.x + at.x * stage.view.scale, y: stage.view.y + at.y * stage.view.scale },
    shift: shiftKey,
    control: false,
  });

  function moveCursor({ x, y }: Point, event: KeyboardEvent): void {
    const stepPx = stepOf(event.shiftKey);
    const from = cursor ?? { x: picture.widthPx / 2, y: picture.heightPx / 2 };
    const next = {
      x: bound(from.x + x * stepPx, picture.widthPx),
      y: bound(from.y + y * stepPx, picture.heightPx),
    };
    setCursor(next);
    gestures.hover({ ...pointed(next, event), shift: false });
  }
  /** As a click at the cursor: a dot, a corner, a selection. */
  function stamp(event: KeyboardEvent): void {
    if (cursor === null || tool.id === "pan") return;
    const at = pointed(cursor, event);
    gestures.press(at);
    gestures.release(at);
  }
  function stepOf(isFar: boolean): number {
    if (tool.cursor !== "ring") return (isFar ? 64 : 8) / stage.view.scale;
    return isFar ? sizePx * 2 : Math.max(2, sizePx / 3);
  }
  function act(event: KeyboardEvent): boolean {
    const direction = directions[event.key];
    if (direction !== undefined) {
      if (tool.id === "pan") stage.pan(-direction.x * panStepPx, -direction.y * panStepPx);
      else moveCursor(direction, event);
      return true;
    }
    if (event.key === "Enter" || (event.key === " " && cursor !== null)) stamp(event);
    else if (event.key === " ") setPanning(true);
    else if (event.key === "Escape") return gestures.cancel();
    else if (event.key === "Backspace") return gestures.back();
    else return false;
    return true;
  }
  const handlers = {
    onKeyDown: (event: KeyboardEvent) => {
      if (isCombined(event)) return;
      if (act(event)) event.preventDefault();
    },
    onKeyUp: (event: KeyboardEvent) => event.key === " " && setPanning(false),
    // A key that is released in another window tells nothing.
    onBlur: () => setPanning(false),
  };
  return { handlers, cursor, hideCursor: () => setCursor(null) };
}
