"use client";
import type { Size } from "@atelier/server/retouch";
import {
  type MouseEvent,
  type PointerEvent,
  useEffect,
  useEffectEvent,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import { isTyping } from "../parts/run-button.tsx";
import { zoomStep } from "./zoom-controls.tsx";
import { fitBox, useBoxSize } from "../ui/box-size.ts";
import { isCombined, keyOf, keyOnce, type KeyPress } from "../ui/key-press.ts";
import { listenForZoom, panView, pinchOf, placeIn, type Point, type View, zoomView } from "../ui/zoom.ts";

interface Sized {
  readonly widthPx: number;
  readonly heightPx: number;
}

/** Limit for enlarging a small picture as a whole, which would become blurred. */
const maxEnlargement = 1.5;
/** Pixels of the screen for one of the picture, in each direction. */
const maxZoom = 4;

/** The whole picture in the middle of its room. */
export function wholeView(room: Size, picture: Sized): View {
  const { width } = fitBox(
    {
      width: Math.min(room.width, picture.widthPx * maxEnlargement),
      height: Math.min(room.height, picture.heightPx * maxEnlargement),
    },
    picture,
  );
  return boundView({ scale: width / picture.widthPx, x: 0, y: 0 }, room, picture);
}

/** In a direction in which the picture is smaller than its room, it stays in the middle, else it fills the room. */
export function boundView({ scale, x, y }: View, room: Size, picture: Sized): View {
  const place = (at: number, space: number) => (space > 0 ? space / 2 : Math.min(0, Math.max(space, at)));
  return {
    scale,
    x: place(x, room.width - picture.widthPx * scale),
    y: place(y, room.height - picture.heightPx * scale),
  };
}

/** A view with the picture moved by so much; null where it has no further to go. */
export function movedView(from: View, { x, y }: Point, room: Size, picture: Sized): View | null {
  const to = boundView(panView(from, x, y), room, picture);
  return Math.abs(to.x - from.x) + Math.abs(to.y - from.y) < 0.5 ? null : to;
}

/** What a double click does to a whole picture: pixel by pixel, or twice as large where it nearly is that. */
export function closerScale(whole: View, actual: number): number {
  return whole.scale < actual * 0.9 ? actual : whole.scale * 2;
}

/** A view that was chosen for a picture; null shows the whole picture again. */
interface Chosen {
  readonly id: string;
  readonly view: View | null;
}

/** What is chosen for a picture by a change to `to`. One that stays whole is not looked at closer: its original is not read. */
export function choose(before: Chosen | null, id: string, to: View | null): Chosen | null {
  return to === null && before?.id !== id ? null : { id, view: to };
}

/** How large a picture is shown, and which part of it. Another picture is whole again. */
export function useZoom(room: HTMLElement | null, picture: Sized & { readonly id: string }) {
  const size = useBoxSize(room);
  const [chosen, setChosen] = useState<Chosen | null>(null);
  const own = chosen?.id === picture.id ? chosen : null;
  // Whoever comes back to a picture sees it whole again.
  if (chosen !== own) setChosen(null);
  const whole = wholeView(size, picture);
  /** CSS px, when one px of the picture is one of the screen. */
  const actual = 1 / devicePixelRatio;
  // In a room that became larger the whole picture may be larger, too.
  const isClose = own !== null && own.view !== null && own.view.scale > whole.scale;
  const view = isClose ? boundView(own.view, size, picture) : whole;
  const range = { min: whole.scale, max: Math.max(whole.scale, maxZoom * actual) };
  const change = (next: (from: View) => View) =>
    setChosen((before) => {
      const to = next((before?.id === picture.id && before.view) || whole);
      return choose(before, picture.id, to.scale > whole.scale ? boundView(to, size, picture) : null);
    });
  const zoom = (factor: number, at: Point = { x: size.width / 2, y: size.height / 2 }) =>
    change((from) => zoomView(from, at, factor, range));
  const fit = () => setChosen((before) => before && { ...before, view: null });
  return {
    view,
    whole,
    isClose,
    /** Whether its pixels have been looked at: its preview has too few. */
    wasClose: own !== null,
    /** Pixels of the screen for one of the picture. */
    zoomed: view.scale / actual,
    zoom,
    pan: (dx: number, dy: number) => change((from) => panView(from, dx, dy)),
    /** Whether there is more of the picture in that direction. */
    canMove: (by: Point) => isClose && movedView(view, by, size, picture) !== null,
    fit,
    toggle: (at?: Point) => (isClose ? fit() : zoom(closerScale(whole, actual) / whole.scale, at)),
  };
}

/** What keys and pointers do to a picture that can be zoomed. */
export type Zoom = Pick<ReturnType<typeof useZoom>, "isClose" | "zoom" | "pan" | "canMove" | "toggle">;

const keys: Readonly<Record<string, (zoom: Zoom) => void>> = {
  "+": ({ zoom }) => zoom(zoomStep),
  "=": ({ zoom }) => zoom(zoomStep),
  "-": ({ zoom }) => zoom(1 / zoomStep),
  z: ({ toggle }) => toggle(),
};

/** What a key does. A held one zooms on, but does not show the picture whole and close by turns. */
export function zoomOfKey(press: KeyPress): ((zoom: Zoom) => void) | undefined {
  const key = keyOf(press);
  return keys[key === "z" ? keyOnce(press) : key];
}

const stepPx = 80;

/** How an arrow moves a picture that is close; with Shift it leads to another picture. */
const moves: Readonly<Record<string, Point>> = {
  ArrowLeft: { x: stepPx, y: 0 },
  ArrowRight: { x: -stepPx, y: 0 },
  ArrowUp: { x: 0, y: stepPx },
  ArrowDown: { x: 0, y: -stepPx },
};

/** Elements that use the arrow keys themselves. */
const ownArrows = "[role=slider], [role=menu], [role=radiogroup]";

export function belongsElsewhere({ key, target }: KeyboardEvent): boolean {
  return key.startsWith("Arrow") && target instanceof Element && target.closest(ownArrows) !== null;
}

/** Whether an arrow is spent on a picture that is close. At its edge a new press leads on, and a held one does not. */
export function takesArrow(
  { key, shiftKey, repeat }: KeyPress,
  zoom: Pick<Zoom, "isClose" | "canMove" | "pan">,
) {
  const by = moves[key];
  if (by === undefined || shiftKey || !zoom.isClose) return false;
  if (!zoom.canMove(by)) return repeat === true;
  zoom.pan(by.x, by.y);
  return true;
}

/** Zooms by wheel and trackpad in the room. */
export function useZoomWheel(room: HTMLElement | null, zoom: Zoom): void {
  const onWheel = useEffectEvent(zoom.zoom);
  useEffect(() => {
    if (room === null) return undefined;
    return listenForZoom(room, (factor, at) => onWheel(factor, placeIn(room, at)));
  }, [room]);
}

/** Zooms and moves by keys of the whole page; null takes none. */
export function useZoomKeys(zoom: Zoom | null): void {
  const onKey = useEffectEvent((event: KeyboardEvent) => {
    if (zoom === null || isTyping(event) || isCombined(event) || belongsElsewhere(event)) return;
    if (takesArrow(event, zoom)) event.preventDefault();
    zoomOfKey(event)?.(zoom);
  });
  // With the first layout, which comes before that of what holds this: so before the other keys of the viewer, whose arrows lead to other pictures.
  useLayoutEffect(() => {
    const press = (event: KeyboardEvent) => onKey(event);
    window.addEventListener("keydown", press, { capture: true });
    return () => window.removeEventListener("keydown", press, { capture: true });
  }, []);
}

const minSwipePx = 56;
/** Down it ends something, so that it takes more. */
const minSwipeDownPx = 96;

interface Swipes {
  readonly onLeft: () => void;
  readonly onRight: () => void;
  readonly onDown: () => void;
}

/** Which way a finger went that was lifted so far from where it came down. */
export function swipeOf({ x, y }: Point): keyof Swipes | null {
  if (Math.abs(y) > Math.abs(x)) return y < minSwipeDownPx ? null : "onDown";
  if (Math.abs(x) < minSwipePx) return null;
  return x < 0 ? "onLeft" : "onRight";
}

/** Pointers on the picture: one moves a part of it, or swipes; two zoom, and a double click does. */
export function useZoomPointers(zoom: Zoom, swipes?: Swipes) {
  const fingers = useRef(new Map<number, Point>());
  const swipe = useRef<Point | null>(null);
  const presses = useRef(0);
  function begin(event: PointerEvent<HTMLElement>): void {
    if (event.pointerType === "mouse" && event.button !== 0) return;
    const at = placeIn(event.currentTarget, event);
    event.currentTarget.setPointerCapture(event.pointerId);
    // The first of its kind: an earlier one was lifted unheard, as beside a comparison.
    if (event.isPrimary) fingers.current.clear();
    fingers.current.set(event.pointerId, at);
    presses.current += 1;
    const mayLeave =
      swipes !== undefined && event.pointerType === "touch" && fingers.current.size === 1 && !zoom.isClose;
    swipe.current = mayLeave ? at : null;
  }
  function move(event: PointerEvent<HTMLElement>): void {
    const from = fingers.current.get(event.pointerId);
    if (from === undefined) return;
    // Behind a menu a mouse is released without a sign.
    if (event.buttons === 0) return end(event);
    const to = placeIn(event.currentTarget, event);
    const other = [...fingers.current].find(([id]) => id !== event.pointerId)?.[1];
    if (other !== undefined) {
      const { dx, dy, factor, at } = pinchOf(other, from, to);
      zoom.pan(dx, dy);
      zoom.zoom(factor, at);
    } else if (zoom.isClose) zoom.pan(to.x - from.x, to.y - from.y);
    fingers.current.set(event.pointerId, to);
  }
  function end(event: PointerEvent<HTMLElement>): void {
    if (!fingers.current.delete(event.pointerId)) return;
    const from = swipe.current;
    swipe.current = null;
    if (from === null || event.type !== "pointerup") return;
    const to = placeIn(event.currentTarget, event);
    const way = swipeOf({ x: to.x - from.x, y: to.y - from.y });
    if (way !== null) swipes?.[way]();
  }
  return {
    onPointerDown: begin,
    onPointerMove: move,
    onPointerUp: end,
    onPointerCancel: end,
    onLostPointerCapture: end,
    onDoubleClick: (event: MouseEvent<HTMLElement>) => {
      // A double click on the tile opens the viewer by its first click; the second one is not meant for the picture.
      if (presses.current > 1) zoom.toggle(placeIn(event.currentTarget, event));
    },
  };
}
