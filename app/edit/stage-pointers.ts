"use client";
import { type MouseEvent, type PointerEvent, useRef, useState } from "react";
import { pinchOf, placeIn } from "../ui/zoom.ts";
import type { Point } from "./mask/selection.ts";
import { type StageView, toPicture } from "./stage-input.ts";
import type { Gesture, Pointed, Surface, Tool } from "./tools/tool.ts";

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
  readonly tool: Tool;
  /** Moves the picture, whatever the tool is. */
  readonly isPanning: boolean;
  readonly surface: () => Surface;
  /** Shows where the pointer is, in CSS px of the stage; null where there is none, or a finger. */
  readonly onHover: (at: Point | null) => void;
}

/**
 * Where a pointer was since the last event: between two frames a pen and a fast mouse are at more places than one. Older
 * Safari does not tell, nor does any browser over plain http on a LAN address.
 */
export function placesOf<Event extends Partial<Pick<globalThis.PointerEvent, "getCoalescedEvents">>>(
  event: Event,
): readonly (Event | globalThis.PointerEvent)[] {
  const between = event.getCoalescedEvents?.() ?? [];
  return between.length === 0 ? [event] : between;
}

/** Bit of `buttons` for the other end of a pen. */
const eraserButton = 32;

/** What is being drawn, by pointers or by the keyboard. */
function useGestures(tool: Tool, surface: () => Surface) {
  const gesture = useRef<Gesture | null>(null);
  const after = (isOver: boolean | undefined) => {
    if (isOver === true) gesture.current = null;
  };
  const back = (): boolean => {
    const had = gesture.current !== null;
    after(gesture.current?.back());
    return had;
  };
  return {
    press: (at: Pointed) => {
      if (gesture.current === null) gesture.current = tool.begin(surface(), at);
      else gesture.current.down(at);
    },
    drag: (to: readonly Pointed[]) => gesture.current?.move(to, true),
    hover: (at: Pointed) => gesture.current?.move([at], false),
    release: (at: Pointed) => after(gesture.current?.up(at)),
    /** Takes back what the last press drew; false when there was nothing. */
    back,
    /** Ends without a mark; false when there was nothing. */
    cancel: (): boolean => {
      const had = gesture.current !== null;
      while (gesture.current !== null) back();
      return had;
    },
  };
}

export type Gestures = ReturnType<typeof useGestures>;

/** Handlers for pointers: one works with the tool, two move and zoom. */
export function useStagePointers({ stage, tool, isPanning, surface, onHover }: UseStagePointersOptions) {
  const fingers = useRef(new Map<number, Point>());
  const [guard] = useState(createPalmGuard);
  const gestures = useGestures(tool, surface);
  /** The pointer that works with the gesture; null between the corners of a polygon. */
  const holder = useRef<number | null>(null);
  const pans = isPanning || tool.id === "pan";

  function pointed(element: HTMLElement, event: globalThis.PointerEvent): Pointed {
    const onStage = placeIn(element, event);
    return {
      at: toPicture(stage.view, onStage),
      onStage,
      ...(event.pointerType === "pen" ? { pressure: event.pressure } : {}),
      isEraser: event.pointerType === "pen" && (event.buttons & eraserButton) !== 0,
      shift: event.shiftKey,
      control: event.ctrlKey || event.metaKey,
    };
  }
  /** Takes back what the pointer that is down has drawn. */
  function takeBack(): void {
    if (holder.current === null) return;
    holder.current = null;
    gestures.back();
  }
  function begin(event: PointerEvent<HTMLElement>): void {
    const canErase = event.pointerType === "pen" && event.button === 5;
    if ((event.button > 1 && !canErase) || !guard.admits(event)) return;
    const at = placeIn(event.currentTarget, event);
    if (event.pointerType === "pen") {
      // A palm that came first has done nothing.
      fingers.current.clear();
      takeBack();
    }
    event.currentTarget.setPointerCapture(event.pointerId);
    fingers.current.set(event.pointerId, at);
    if (fingers.current.size > 1) takeBack();
    else if (!pans && event.button !== 1 && !guard.isBesidePen(event)) {
      holder.current = event.pointerId;
      gestures.press(pointed(event.currentTarget, event.nativeEvent));
    }
  }
  function pinch(id: number, from: Point, to: Point): void {
    const other = [...fingers.current].find(([key]) => key !== id)?.[1];
    if (other === undefined) return;
    const { dx, dy, factor, at } = pinchOf(other, from, to);
    stage.pan(dx, dy);
    stage.zoom(factor, at);
  }
  function move(event: PointerEvent<HTMLElement>): void {
    guard.note(event);
    const { currentTarget, nativeEvent, pointerId } = event;
    const at = placeIn(currentTarget, event);
    onHover(event.pointerType === "touch" ? null : at);
    const from = fingers.current.get(pointerId);
    // Behind a menu a mouse is released without a sign.
    if (from !== undefined && event.buttons === 0) return end(event);
    if (from === undefined) {
      if (holder.current === null) gestures.hover(pointed(currentTarget, nativeEvent));
      return;
    }
    if (fingers.current.size > 1) pinch(pointerId, from, at);
    else if (holder.current === pointerId)
      gestures.drag(placesOf(nativeEvent).map((each) => pointed(currentTarget, each)));
    else stage.pan(at.x - from.x, at.y - from.y);
    fingers.current.set(pointerId, at);
  }
  function end(event: PointerEvent<HTMLElement>): void {
    guard.note(event);
    if (!fingers.current.delete(event.pointerId) || holder.current !== event.pointerId) return;
    holder.current = null;
    gestures.release(pointed(event.currentTarget, event.nativeEvent));
  }
  const handlers = {
    onPointerDown: begin,
    onPointerMove: move,
    onPointerUp: end,
    // A menu or a window in front took the pointer, and its release is never heard.
    onLostPointerCapture: end,
    onContextMenu: (event: MouseEvent) => {
      // Ctrl and a click on a Mac, or a finger that rests: a stroke, and no menu.
      if (event.ctrlKey || holder.current !== null) event.preventDefault();
    },
    onPointerCancel: (event: PointerEvent<HTMLElement>) => {
      // The browser took it away, for a gesture of its own or for a palm.
      if (fingers.current.delete(event.pointerId) && holder.current === event.pointerId) takeBack();
    },
    onPointerLeave: () => onHover(null),
  };
  return { handlers, pans, gestures };
}
