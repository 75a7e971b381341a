/** A picture plane in row-major order. */
export interface Grid<Data> {
  readonly data: Data;
  readonly width: number;
  readonly height: number;
}

/** 0 or 1 per pixel. */
export type Mask = Grid<Uint8Array>;
/** 0..255 per pixel. */
export type Grey = Grid<Uint8Array>;
/** Three bytes per pixel. */
export type Rgb = Grid<Uint8Array>;
/** One float per pixel. */
export type Plane = Grid<Float32Array>;

export interface Size {
  readonly width: number;
  readonly height: number;
}

export interface Point {
  readonly x: number;
  readonly y: number;
}

export function emptyMask({ width, height }: Size): Mask {
  return { data: new Uint8Array(width * height), width, height };
}

export function emptyPlane({ width, height }: Size): Plane {
  return { data: new Float32Array(width * height), width, height };
}

/** A mask of the pixels for whose index `isSet` is true. */
export function maskWhere({ width, height }: Size, isSet: (index: number) => boolean): Mask {
  const data = new Uint8Array(width * height);
  for (let i = 0; i < data.length; i++) data[i] = isSet(i) ? 1 : 0;
  return { data, width, height };
}

export function planeOf(mask: Grid<Uint8Array>): Plane {
  return { data: Float32Array.from(mask.data), width: mask.width, height: mask.height };
}

export function areaOf(mask: Mask): number {
  let area = 0;
  for (const value of mask.data) area += value;
  return area;
}
