"use client";
import { type PointerEvent, useRef, useState } from "react";
import type { Point, Stroke } from "./mask/stroke.ts";
import type { Brush } from "./use-editor.ts";
import { toPicture } from "./stage/view.ts";
import type { StageView } from "./stage/use-view.ts";

interface Options {
  readonly stage: StageView;
  readonly brush: Brush;
  readonly isPanning: boolean;
  readonly onDraw: (stroke: Stroke) => void;
  /** What was drawn of the present stroke does not count. */
  readonly onDrop: () => void;
  readonly onStroke: (stroke: Stroke) => void;
}

function placeOf(event: PointerEvent<HTMLElement>): Point {
  const box = event.currentTarget.getBoundingClientRect();
  return { x: event.clientX - box.left, y: event.clientY - box.top };
}

const middleOf = (a: Point, b: Point): Point => ({ x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 });
const distance = (a: Point, b: Point) => Math.hypot(a.x - b.x, a.y - b.y);

/** One pointer paints or pans, two pinch. */
export function useStagePointers({ stage, brush, isPanning, onDraw, onDrop, onStroke }: Options) {
  const fingers = useRef(new Map<number, Point>());
  const stroke = useRef<Stroke | null>(null);
  const [hover, setHover] = useState<Point | null>(null);
  const pans = isPanning || brush.tool === "pan";

  function drop(): void {
    if (stroke.current === null) return;
    stroke.current = null;
    onDrop();
  }
  function begin(event: PointerEvent<HTMLElement>): void {
    if (event.button > 1) return;
    const at = placeOf(event);
    event.currentTarget.setPointerCapture(event.pointerId);
    fingers.current.set(event.pointerId, at);
    if (fingers.current.size > 1) drop();
    else if (!pans && event.button === 0) {
      const mode = brush.tool === "eraser" ? "erase" : "paint";
      stroke.current = { mode, sizePx: brush.sizePx, points: [toPicture(stage.view, at)] };
      onDraw(stroke.current);
    }
  }
  function pinch(id: number, from: Point, to: Point): void {
    const other = [...fingers.current].find(([key]) => key !== id)?.[1];
    if (other === undefined) return;
    const before = middleOf(from, other);
    const after = middleOf(to, other);
    stage.pan(after.x - before.x, after.y - before.y);
    stage.zoom(distance(to, other) / Math.max(1, distance(from, other)), after);
  }
  function move(event: PointerEvent<HTMLElement>): void {
    const at = placeOf(event);
    setHover(event.pointerType === "mouse" || event.pointerType === "pen" ? at : null);
    const from = fingers.current.get(event.pointerId);
    if (from === undefined) return;
    if (fingers.current.size > 1) pinch(event.pointerId, from, at);
    else if (stroke.current !== null) {
      const last = stroke.current.points.at(-1);
      const next = toPicture(stage.view, at);
      stroke.current = { ...stroke.current, points: [...stroke.current.points, next] };
      onDraw({ ...stroke.current, points: last === undefined ? [next] : [last, next] });
    } else stage.pan(at.x - from.x, at.y - from.y);
    fingers.current.set(event.pointerId, at);
  }
  function end(event: PointerEvent<HTMLElement>): void {
    fingers.current.delete(event.pointerId);
    if (stroke.current === null) return;
    onStroke(stroke.current);
    stroke.current = null;
  }
  const handlers = {
    onPointerDown: begin,
    onPointerMove: move,
    onPointerUp: end,
    onPointerCancel: end,
    onPointerLeave: () => setHover(null),
  };
  return { handlers, hover, pans };
}
