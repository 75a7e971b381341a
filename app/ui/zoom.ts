import type { Size } from "@atelier/server/retouch";

export interface Point {
  readonly x: number;
  readonly y: number;
}

/** Where a picture lies in its room: one picture px is `scale` CSS px, its corner is at (x, y). */
export interface View {
  readonly scale: number;
  readonly x: number;
  readonly y: number;
}

/** The least and the greatest scale. */
export interface ZoomRange {
  readonly min: number;
  readonly max: number;
}

/** A view that fits rooms and pictures of any size. */
export interface RelativeView {
  /** 1 where the whole picture is shown. */
  readonly zoom: number;
  /** The point of the picture in the middle, as parts of its width and height. */
  readonly centreX: number;
  readonly centreY: number;
}

/** A picture in its room, and the view that shows it whole. */
export interface Framed {
  readonly room: Size;
  readonly picture: Size;
  readonly whole: View;
}

export function toRelative({ scale, x, y }: View, { room, picture, whole }: Framed): RelativeView {
  return {
    zoom: scale / whole.scale,
    centreX: (room.width / 2 - x) / scale / picture.width,
    centreY: (room.height / 2 - y) / scale / picture.height,
  };
}

export function fromRelative(
  { zoom, centreX, centreY }: RelativeView,
  { room, picture, whole }: Framed,
  { min, max }: ZoomRange,
): View {
  const scale = Math.min(max, Math.max(min, whole.scale * zoom));
  return {
    scale,
    x: room.width / 2 - centreX * picture.width * scale,
    y: room.height / 2 - centreY * picture.height * scale,
  };
}

/** Zooms so that the picture point under `at` (px of the room) stays in place. */
export function zoomView(view: View, at: Point, factor: number, { min, max }: ZoomRange): View {
  const scale = Math.min(max, Math.max(min, view.scale * factor));
  const grown = scale / view.scale;
  return { scale, x: at.x - (at.x - view.x) * grown, y: at.y - (at.y - view.y) * grown };
}

export function panView(view: View, dx: number, dy: number): View {
  return { ...view, x: view.x + dx, y: view.y + dy };
}

export const distance = (a: Point, b: Point): number => Math.hypot(a.x - b.x, a.y - b.y);

const middleOf = (a: Point, b: Point): Point => ({ x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 });

/** What a finger that moves beside another one does: so far it moves the picture, and then zooms it at a place. */
export function pinchOf(other: Point, from: Point, to: Point) {
  const [before, at] = [middleOf(from, other), middleOf(to, other)];
  const factor = distance(to, other) / Math.max(1, distance(from, other));
  return { dx: at.x - before.x, dy: at.y - before.y, factor, at };
}

type Place = Pick<MouseEvent, "clientX" | "clientY">;

/** Where a place of the window is in an element, in CSS px. */
export function placeIn(element: Element, event: Place): Point {
  const box = element.getBoundingClientRect();
  return { x: event.clientX - box.left, y: event.clientY - box.top };
}

/** What Safari tells of two fingers on the trackpad of a Mac; other browsers make them a wheel with Ctrl. */
interface TrackpadGesture extends Event {
  /** Since the gesture began. */
  readonly scale: number;
  readonly clientX: number;
  readonly clientY: number;
}

/** Zooms by wheel and by trackpad, at a place of the window; returns how to stop. */
export function listenForZoom(
  element: Pick<EventTarget, "addEventListener">,
  zoom: (factor: number, at: Place) => void,
): () => void {
  const leaving = new AbortController();
  let lastScale = 1;
  const turn = (event: Event) => {
    event.preventDefault();
    // Safe casts: the events are named below.
    const wheel = event as WheelEvent;
    zoom(Math.exp(-wheel.deltaY * (wheel.ctrlKey ? 0.01 : 0.0015)), wheel);
  };
  const pinch = (event: Event) => {
    // On a touch screen the fingers are pointers, too.
    if (navigator.maxTouchPoints > 0) return;
    event.preventDefault();
    const gesture = event as TrackpadGesture;
    if (event.type === "gesturechange") zoom(gesture.scale / lastScale, gesture);
    lastScale = gesture.scale;
  };
  // React's own wheel listener is passive and cannot prevent the page from scrolling.
  const options = { passive: false, signal: leaving.signal };
  element.addEventListener("wheel", turn, options);
  for (const type of ["gesturestart", "gesturechange"]) element.addEventListener(type, pinch, options);
  return () => leaving.abort();
}
