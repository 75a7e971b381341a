export interface Point {
  readonly x: number;
  readonly y: number;
}

/** One movement of the brush or eraser, in px of the picture. A single point is a dot. */
export interface Stroke {
  readonly mode: "paint" | "erase";
  readonly sizePx: number;
  readonly points: readonly Point[];
}
