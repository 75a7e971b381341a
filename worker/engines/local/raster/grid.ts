import type { CV } from "@techstark/opencv-js";

/*
 * Reads of typed arrays by an index that the caller keeps in range, which the types cannot see. One function per
 * array type, so that each stays monomorphic and is inlined.
 */
export const byteAt = (cells: Uint8Array, index: number): number => cells[index] as number;
export const floatAt = (cells: Float32Array, index: number): number => cells[index] as number;
export const intAt = (cells: Int32Array, index: number): number => cells[index] as number;
export const doubleAt = (cells: Float64Array, index: number): number => cells[index] as number;

export function clamp(value: number, low: number, high: number): number {
  return value < low ? low : value > high ? high : value;
}

/** 0 below 0, 1 above 1, smooth between. */
export function smoothstep(value: number): number {
  const t = clamp(value, 0, 1);
  return t * t * (3 - 2 * t);
}

/** A picture plane in row-major order. */
interface Grid<Data> {
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

/** The middle value; 0 of nothing. */
export function median(values: Iterable<number>): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[sorted.length >> 1] ?? 0;
}

/** Luma 0..255 and two colour differences. */
export interface Tone {
  readonly luma: number;
  readonly red: number;
  readonly blue: number;
}

export function toneAt({ data }: Rgb, index: number): Tone {
  const r = byteAt(data, index * 3);
  const g = byteAt(data, index * 3 + 1);
  const b = byteAt(data, index * 3 + 2);
  const luma = 0.299 * r + 0.587 * g + 0.114 * b;
  return { luma, red: (r - luma) * 0.713, blue: (b - luma) * 0.564 };
}

/** How far two tones are apart, in units of the given tolerances. */
export function toneDistance(a: Tone, b: Tone, tolerance: { luma: number; chroma: number }): number {
  return Math.hypot(
    (a.luma - b.luma) / tolerance.luma,
    (a.red - b.red) / tolerance.chroma,
    (a.blue - b.blue) / tolerance.chroma,
  );
}

/** Median of each component; `undefined` for fewer than `least` tones. */
export function medianTone(tones: readonly Tone[], least: number): Tone | undefined {
  if (tones.length < least) return undefined;
  return {
    luma: median(tones.map((tone) => tone.luma)),
    red: median(tones.map((tone) => tone.red)),
    blue: median(tones.map((tone) => tone.blue)),
  };
}

export function invert(mask: Mask): Mask {
  return maskWhere(mask, (i) => byteAt(mask.data, i) === 0);
}

/** Resizes bytes with 1 or 3 channels: area average when shrinking, linear when growing. */
export function resizeGrid(cv: CV, grid: Grid<Uint8Array>, size: Size): Grid<Uint8Array> {
  return resizeWith(cv, grid, { size, method: size.width < grid.width ? cv.INTER_AREA : cv.INTER_LINEAR });
}

/** Resizes labels or a mask without mixing values. */
export function resizeNearest(cv: CV, grid: Grid<Uint8Array>, size: Size): Grid<Uint8Array> {
  return resizeWith(cv, grid, { size, method: cv.INTER_NEAREST });
}

/** Resizes a mask with a smooth outline. */
export function resizeMask(cv: CV, mask: Mask, size: Size): Mask {
  const grey = { ...mask, data: mask.data.map((value) => value * 255) };
  const large = resizeGrid(cv, grey, size);
  return { ...large, data: large.data.map((value) => (value > 127 ? 1 : 0)) };
}

function resizeWith(cv: CV, grid: Grid<Uint8Array>, to: { size: Size; method: number }): Grid<Uint8Array> {
  const isGrey = grid.data.length === grid.width * grid.height;
  const from = cv.matFromArray(grid.height, grid.width, isGrey ? cv.CV_8UC1 : cv.CV_8UC3, grid.data);
  const result = new cv.Mat();
  const { width, height } = to.size;
  cv.resize(from, result, new cv.Size(width, height), 0, 0, to.method);
  const data = Uint8Array.from(result.data as Uint8Array);
  from.delete();
  result.delete();
  return { data, width, height };
}

export type Planes = readonly [red: Plane, green: Plane, blue: Plane];

/** The three channels as float planes, 0..255. */
export function rgbPlanes({ data, width, height }: Rgb): Planes {
  const plane = (channel: number): Plane => {
    const cells = new Float32Array(width * height);
    for (let i = 0; i < cells.length; i++) cells[i] = byteAt(data, i * 3 + channel);
    return { data: cells, width, height };
  };
  return [plane(0), plane(1), plane(2)];
}

/** Luma of each pixel, 0..255. */
export function lumaPlane({ data, width, height }: Rgb): Plane {
  const cells = new Float32Array(width * height);
  for (let i = 0; i < cells.length; i++) {
    cells[i] =
      0.299 * byteAt(data, i * 3) + 0.587 * byteAt(data, i * 3 + 1) + 0.114 * byteAt(data, i * 3 + 2);
  }
  return { data: cells, width, height };
}

/** Bilinear sample; positions outside are moved to the edge. */
export function sampleLinear({ data, width, height }: Plane, x: number, y: number): number {
  const insideX = clamp(x, 0, width - 1.001);
  const insideY = clamp(y, 0, height - 1.001);
  const column = insideX | 0;
  const row = insideY | 0;
  const u = insideX - column;
  const v = insideY - row;
  const i = row * width + column;
  return (
    (floatAt(data, i) * (1 - u) + floatAt(data, i + 1) * u) * (1 - v) +
    (floatAt(data, i + width) * (1 - u) + floatAt(data, i + width + 1) * u) * v
  );
}
