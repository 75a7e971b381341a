"use client";
import { type KeyboardEvent, useState } from "react";
import type { Point, Stroke } from "../mask/stroke.ts";
import type { Brush } from "../use-editor.ts";
import type { StageView } from "./use-view.ts";

interface Options {
  readonly stage: StageView;
  readonly brush: Brush;
  readonly picture: { readonly widthPx: number; readonly heightPx: number };
  readonly onStroke: (stroke: Stroke) => void;
}

const directions: Record<string, Point> = {
  ArrowLeft: { x: -1, y: 0 },
  ArrowRight: { x: 1, y: 0 },
  ArrowUp: { x: 0, y: -1 },
  ArrowDown: { x: 0, y: 1 },
};
const panStepPx = 48;
const bound = (value: number, most: number) => Math.min(most, Math.max(0, value));

/** Painting, panning and zooming without a pointer; `cursor` is where the keyboard's brush stands, in px of the picture. */
export function useStageKeys({ stage, brush, picture, onStroke }: Options) {
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
  function stamp(): void {
    if (cursor === null || brush.tool === "pan") return;
    onStroke({ mode: brush.tool === "eraser" ? "erase" : "paint", sizePx: brush.sizePx, points: [cursor] });
  }
  function act(event: KeyboardEvent): boolean {
    const direction = directions[event.key];
    if (direction !== undefined) {
      if (brush.tool === "pan") stage.pan(-direction.x * panStepPx, -direction.y * panStepPx);
      else moveCursor(direction, event.shiftKey ? brush.sizePx * 2 : Math.max(2, brush.sizePx / 3));
      return true;
    }
    if (event.key === "Enter" || (event.key === " " && cursor !== null)) stamp();
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
