import type { CV } from "@techstark/opencv-js";
import {
  byteAt,
  clamp,
  doubleAt,
  type Grey,
  intAt,
  invert,
  type Mask,
  maskWhere,
  type Point,
  type Size,
} from "./grid.ts";

export interface Components {
  /** Per pixel the number of its piece, 0 for the ground. */
  readonly labels: Int32Array;
  readonly count: number;
  /** Pixels per label. */
  readonly areas: Float64Array;
}

/** The 8-connected pieces of a mask. */
export function components(cv: CV, mask: Mask): Components {
  const mat = cv.matFromArray(mask.height, mask.width, cv.CV_8UC1, mask.data);
  const result = new cv.Mat();
  const count = cv.connectedComponents(mat, result);
  const labels = Int32Array.from(result.data32S as Int32Array);
  mat.delete();
  result.delete();
  const areas = new Float64Array(count);
  for (let i = 0; i < labels.length; i++) areas[intAt(labels, i)] = Number(areas[intAt(labels, i)]) + 1;
  return { labels, count, areas };
}

export interface Capsule {
  readonly from: Point;
  readonly to: Point;
  readonly radius: number;
}

/** Sets all pixels within `radius` of the line. */
export function drawCapsule({ data, width, height }: Mask, { from, to, radius }: Capsule): void {
  const dx = to.x - from.x;
  const dy = to.y - from.y;
  const lengthSquared = dx * dx + dy * dy || 1;
  const bottom = Math.min(height - 1, Math.ceil(Math.max(from.y, to.y) + radius));
  const left = Math.max(0, Math.floor(Math.min(from.x, to.x) - radius));
  const right = Math.min(width - 1, Math.ceil(Math.max(from.x, to.x) + radius));
  for (let y = Math.max(0, Math.floor(Math.min(from.y, to.y) - radius)); y <= bottom; y++) {
    for (let x = left; x <= right; x++) {
      const t = clamp(((x - from.x) * dx + (y - from.y) * dy) / lengthSquared, 0, 1);
      if (Math.hypot(x - from.x - t * dx, y - from.y - t * dy) <= radius) data[y * width + x] = 1;
    }
  }
}

/** Sets all pixels inside the polygon (even-odd). */
export function drawPolygon({ data, width, height }: Mask, corners: readonly Point[]): void {
  for (let y = 0; y < height; y++) {
    const crossings = crossingsAt(corners, y);
    for (let k = 0; k + 1 < crossings.length; k += 2) {
      const from = Math.max(0, Math.ceil(crossings[k] as number));
      const to = Math.min(width - 1, Math.floor(crossings[k + 1] as number));
      if (to >= from) data.fill(1, y * width + from, y * width + to + 1);
    }
  }
}

function crossingsAt(corners: readonly Point[], y: number): number[] {
  const crossings: number[] = [];
  let a = corners.at(-1);
  for (const b of corners) {
    if (a && a.y <= y !== b.y <= y) crossings.push(a.x + ((y - a.y) * (b.x - a.x)) / (b.y - a.y));
    a = b;
  }
  return crossings.sort((p, q) => p - q);
}

export interface HoleRule {
  /** Decides by the area of a hole in pixels and the mean of `weight` in it. */
  accept(areaPx: number, meanWeight: number): boolean;
  readonly weight?: Grey;
}

/** Fills the holes that the rule accepts; what touches the picture's edge is no hole. */
export function fillHoles(cv: CV, mask: Mask, rule: HoleRule): Mask {
  const { labels, count, areas } = components(cv, invert(mask));
  const sums = new Float64Array(count);
  const { weight } = rule;
  if (weight) {
    for (let i = 0; i < labels.length; i++) {
      sums[intAt(labels, i)] = doubleAt(sums, intAt(labels, i)) + byteAt(weight.data, i);
    }
  }
  const isOpen = labelsAtEdge(labels, mask, count);
  const isFilled = Array.from(areas, (area, label) => {
    return label > 0 && !isOpen[label] && rule.accept(area, doubleAt(sums, label) / area);
  });
  const data = mask.data.map((value, i) => (isFilled[intAt(labels, i)] ? 1 : value));
  return { ...mask, data };
}

function labelsAtEdge(labels: Int32Array, { width, height }: Mask, count: number): Uint8Array {
  const isAtEdge = new Uint8Array(count);
  for (let i = 0; i < labels.length; i++) {
    const x = i % width;
    const isEdge = x === 0 || x === width - 1 || i < width || i >= width * (height - 1);
    if (isEdge) isAtEdge[intAt(labels, i)] = 1;
  }
  return isAtEdge;
}

export interface LargestComponent {
  readonly mask: Mask;
  /** Its share of the area of all pieces. */
  readonly share: number;
}

/** The piece with the largest area, or with the largest overlap with `prefer`. */
export function largestComponent(cv: CV, mask: Mask, prefer?: Mask): LargestComponent {
  const { labels, count, areas } = components(cv, mask);
  const scores = prefer ? new Float64Array(count) : areas;
  if (prefer) {
    for (let i = 0; i < labels.length; i++) {
      scores[intAt(labels, i)] = doubleAt(scores, intAt(labels, i)) + byteAt(prefer.data, i);
    }
  }
  let best = 0;
  let total = 0;
  for (let label = 1; label < count; label++) {
    total += doubleAt(areas, label);
    if (best === 0 || doubleAt(scores, label) > doubleAt(scores, best)) best = label;
  }
  const share = total > 0 ? doubleAt(areas, best) / total : 0;
  return { mask: maskWhere(mask, (i) => best > 0 && intAt(labels, i) === best), share };
}

/** For each pixel the index of the (nearly) nearest set pixel, -1 if none is set (8-neighbour sequential transform). */
export function nearestIndex({ data, width, height }: Mask): Int32Array {
  const nearest = new Int32Array(data.length).fill(-1);
  for (let i = 0; i < data.length; i++) if (data[i]) nearest[i] = i;
  const relax = createRelax(nearest, width);
  for (let y = 0; y < height; y++) sweepDown(relax, y, width);
  for (let y = height - 1; y >= 0; y--) sweepUp(relax, y, { width, height });
  return nearest;
}

function sweepDown(relax: Relax, y: number, width: number): void {
  for (let x = 0; x < width; x++) {
    if (x > 0) relax(x, y, -1);
    if (y > 0) relaxRow({ relax, width }, { x, y }, -1);
  }
  for (let x = width - 2; x >= 0; x--) relax(x, y, 1);
}

function sweepUp(relax: Relax, y: number, { width, height }: Size): void {
  for (let x = width - 1; x >= 0; x--) {
    if (x < width - 1) relax(x, y, 1);
    if (y < height - 1) relaxRow({ relax, width }, { x, y }, 1);
  }
  for (let x = 1; x < width; x++) relax(x, y, -1);
}

/** Takes the neighbour's answer where it is closer; `offset` is the neighbour's index less the own. */
type Relax = (x: number, y: number, offset: number) => void;

function createRelax(nearest: Int32Array, width: number): Relax {
  const squaredTo = (found: number, x: number, y: number) => {
    const dx = (found % width) - x;
    const dy = ((found / width) | 0) - y;
    return dx * dx + dy * dy;
  };
  return (x, y, offset) => {
    const own = y * width + x;
    const found = intAt(nearest, own + offset);
    if (found < 0) return;
    const known = intAt(nearest, own);
    if (known < 0 || squaredTo(found, x, y) < squaredTo(known, x, y)) nearest[own] = found;
  };
}

function relaxRow(
  { relax, width }: { relax: Relax; width: number },
  { x, y }: { x: number; y: number },
  dy: 1 | -1,
): void {
  if (x > 0) relax(x, y, dy * width - 1);
  relax(x, y, dy * width);
  if (x < width - 1) relax(x, y, dy * width + 1);
}
