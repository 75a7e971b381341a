import type { Point } from "../mask/stroke.ts";

/** Where the picture lies on the stage: a picture px is `scale` CSS px, its corner at (x, y). */
export interface View {
  readonly scale: number;
  readonly x: number;
  readonly y: number;
}

interface Size {
  readonly width: number;
  readonly height: number;
}

const smallest = 0.02;
const largest = 16;
const marginPx = 24;

/** The whole picture, in the middle, at most twice its size. */
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

/** Zooms so that what lies under `at` stays there. */
export function zoomView(view: View, at: Point, factor: number): View {
  const scale = Math.min(largest, Math.max(smallest, view.scale * factor));
  const grown = scale / view.scale;
  return { scale, x: at.x - (at.x - view.x) * grown, y: at.y - (at.y - view.y) * grown };
}

export function panView(view: View, dx: number, dy: number): View {
  return { ...view, x: view.x + dx, y: view.y + dy };
}

/** A point of the stage in px of the picture. */
export function toPicture(view: View, at: Point): Point {
  return { x: (at.x - view.x) / view.scale, y: (at.y - view.y) / view.scale };
}
