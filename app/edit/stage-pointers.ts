"use client";
import { type PointerEvent, useRef, useState } from "react";
import type { Stroke } from "./mask.ts";
import type { Point } from "./selection.ts";
import type { Brush } from "./session.ts";
import { type StageView, toPicture } from "./stage-input.ts";

type Pointer = Pick<globalThis.PointerEvent, "pointerType" | "timeStamp">;

/** A palm comes down shortly before and after the pen, or while it hovers. */
const besidePenMs = 700;

/**
 * Tells fingers from the palm that holds a pen: touches beside the pen do nothing. Once a pen has drawn, a finger alone
 * moves the picture and does not paint.
 */
export function createPalmGuard() {
  let penAtMs: number | null = null;
  const note = ({ pointerType, timeStamp }: Pointer) => {
    if (pointerType === "pen") penAtMs = timeStamp;
  };
  const isPalm = ({ pointerType, timeStamp }: Pointer) =>
    pointerType === "touch" && penAtMs !== null && timeStamp - penAtMs < besidePenMs;
  return {
    /** Every sign of a pen, that it hovers too. */
    note,
    admits(pointer: Pointer): boolean {
      note(pointer);
      return !isPalm(pointer);
    },
    /** A finger of somebody who draws with a pen. */
    isBesidePen: ({ pointerType }: Pick<Pointer, "pointerType">) =>
      pointerType === "touch" && penAtMs !== null,
  };
}

interface UseStagePointersOptions {
  readonly stage: StageView;
  readonly brush: Brush;
  readonly isPanning: boolean;
  readonly onDraw: (stroke: Stroke) => void;
  /** Discards the current stroke. */
  readonly onDrop: () => void;
  readonly onStroke: (stroke: Stroke) => void;
  readonly onClick: (at: Point, isExcluding: boolean) => void;
}

function placeOf(event: PointerEvent<HTMLElement>): Point {
  const box = event.currentTarget.getBoundingClientRect();
  return { x: event.clientX - box.left, y: event.clientY - box.top };
}

/** A stroke that is being drawn: a copy of its points for each new one would take longer with each. */
interface GrowingStroke extends Stroke {
  readonly points: Point[];
}

const middleOf = (a: Point, b: Point): Point => ({ x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 });
const distance = (a: Point, b: Point) => Math.hypot(a.x - b.x, a.y - b.y);

/** A pointer that moves further than this drags the picture and selects nothing. */
const tapReachPx = 6;

/** Handlers for pointers: one paints, selects or pans, two zoom. */
export function useStagePointers({
  stage,
  brush,
  isPanning,
  onDraw,
  onDrop,
  onStroke,
  onClick,
}: UseStagePointersOptions) {
  const fingers = useRef(new Map<number, Point>());
  const [guard] = useState(createPalmGuard);
  const stroke = useRef<GrowingStroke | null>(null);
  /** Where a pointer came down that may become a click; null once it moved away, or another one joined. */
  const tap = useRef<Point | null>(null);
  const [hover, setHover] = useState<Point | null>(null);
  const pans = isPanning || brush.tool === "pan";

  function drop(): void {
    if (stroke.current === null) return;
    stroke.current = null;
    onDrop();
  }
  function begin(event: PointerEvent<HTMLElement>): void {
    if (event.button > 1 || !guard.admits(event)) return;
    const at = placeOf(event);
    if (event.pointerType === "pen") {
      // A palm that came first has done nothing.
      fingers.current.clear();
      drop();
    }
    event.currentTarget.setPointerCapture(event.pointerId);
    fingers.current.set(event.pointerId, at);
    tap.current = null;
    if (fingers.current.size > 1) drop();
    else if (pans || event.button !== 0 || guard.isBesidePen(event)) return;
    else if (brush.tool === "select") tap.current = at;
    else {
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
    guard.note(event);
    const at = placeOf(event);
    setHover(event.pointerType === "mouse" || event.pointerType === "pen" ? at : null);
    const from = fingers.current.get(event.pointerId);
    if (from === undefined) return;
    if (tap.current !== null && distance(tap.current, at) <= tapReachPx) return;
    tap.current = null;
    if (fingers.current.size > 1) pinch(event.pointerId, from, at);
    else if (stroke.current !== null) {
      const last = stroke.current.points.at(-1);
      const next = toPicture(stage.view, at);
      stroke.current.points.push(next);
      onDraw({ ...stroke.current, points: last === undefined ? [next] : [last, next] });
    } else stage.pan(at.x - from.x, at.y - from.y);
    fingers.current.set(event.pointerId, at);
  }
  function end(event: PointerEvent<HTMLElement>): void {
    guard.note(event);
    if (!fingers.current.delete(event.pointerId)) return;
    if (tap.current !== null) onClick(toPicture(stage.view, tap.current), event.shiftKey);
    tap.current = null;
    if (stroke.current === null) return;
    onStroke(stroke.current);
    stroke.current = null;
  }
  const handlers = {
    onPointerDown: begin,
    onPointerMove: move,
    onPointerUp: end,
    onPointerCancel: (event: PointerEvent<HTMLElement>) => {
      if (!fingers.current.delete(event.pointerId)) return;
      // The browser took it away, for a gesture of its own or for a palm.
      tap.current = null;
      drop();
    },
    onPointerLeave: () => setHover(null),
  };
  return { handlers, hover, pans };
}
