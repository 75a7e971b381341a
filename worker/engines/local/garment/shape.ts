import type { Sides } from "../people/body.ts";
import { byteAt, type Mask, type Point } from "../raster/grid.ts";
import { refuseGarment } from "./mask.ts";

/** First and last column of the run of cloth around the middle column. */
interface Run {
  readonly left: number;
  readonly right: number;
}

/** The middle line of a sleeve, in the plane of the garment photo. */
export interface SleeveAxis {
  /** Middle of the seam. */
  readonly origin: Point;
  /** Unit vectors along the sleeve and towards its upper edge. */
  readonly along: Point;
  readonly up: Point;
  readonly length: number;
  /** Where the cuff's upper and lower edge are, along `up`. */
  readonly upper: number;
  readonly lower: number;
  readonly seamHalf: number;
}

/** Landmarks of a garment, in pixels of its photo. */
export interface GarmentShape {
  readonly neck: Sides<Point>;
  /** Lowest point of the neckline; absent when nothing of the garment is below the middle of it. */
  readonly neckMiddle: Point | undefined;
  readonly shoulders: Sides<Point>;
  readonly armpits: Sides<Point>;
  readonly hem: Sides<Point>;
  readonly sleeves: Sides<SleeveAxis> | undefined;
  readonly hasHood: boolean;
  /** From armpit to armpit. */
  readonly width: number;
  /** From armpits to hem, in widths. */
  readonly lengthRatio: number;
  readonly runs: readonly (Run | undefined)[];
}

/** What the landmarks are read from. */
interface Outline {
  readonly mask: Mask;
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
  /** Per column the first row with cloth, -1 for none. */
  readonly tops: readonly number[];
  readonly runs: readonly (Run | undefined)[];
}

function readOutline(mask: Mask): Outline {
  const { data, width, height } = mask;
  const tops = Array.from({ length: width }, () => -1);
  let [left, right, top, bottom] = [width, 0, height, 0];
  for (let i = 0; i < data.length; i++) {
    if (!byteAt(data, i)) continue;
    const x = i % width;
    const y = Math.floor(i / width);
    if (tops[x] === -1) tops[x] = y;
    left = Math.min(left, x);
    right = Math.max(right, x);
    top = Math.min(top, y);
    bottom = Math.max(bottom, y);
  }
  const middle = Math.round((left + right) / 2);
  const runs = Array.from({ length: height }, (_row, y) => runAt(mask, middle, y));
  return { mask, left, right, top, bottom, tops, runs };
}

function runAt({ data, width }: Mask, middle: number, y: number): Run | undefined {
  const row = y * width;
  if (!byteAt(data, row + middle)) return undefined;
  let left = middle;
  let right = middle;
  while (left > 0 && byteAt(data, row + left - 1)) left--;
  while (right < width - 1 && byteAt(data, row + right + 1)) right++;
  return { left, right };
}

interface Armpit extends Point {
  readonly hasSleeve: boolean;
}

/** Rows below this share of the height hold no armpit. */
const maxArmpitShare = 0.8;

/**
 * The armpit of one side (0 left, 1 right): the first row where the run in the middle jumps inwards, since a gap opens
 * below the sleeve; failing that the first place where the outline stops moving inwards; failing that there is no sleeve.
 */
function findArmpit(outline: Outline, side: 0 | 1): Armpit {
  return findJump(outline, side) ?? findWaist(outline, side) ?? sidePoint(outline, side);
}

/** How far inwards the outline is at a row, growing towards the middle; `undefined` without cloth there. */
function inwardAt({ runs }: Outline, side: 0 | 1, y: number): number | undefined {
  const run = runs[y];
  if (!run) return undefined;
  return side === 1 ? -run.right : run.left;
}

function findJump(outline: Outline, side: 0 | 1): Armpit | undefined {
  const { top, bottom, left, right } = outline;
  let before: number | undefined;
  for (let y = top; y < top + maxArmpitShare * (bottom - top); y++) {
    const inward = inwardAt(outline, side, y);
    if (inward === undefined) continue;
    const isJump = before !== undefined && inward - before > 0.035 * (right - left);
    if (isJump && y > top + 0.12 * (bottom - top)) return { x: Math.abs(inward), y, hasSleeve: true };
    before = inward;
  }
  return undefined;
}

function findWaist(outline: Outline, side: 0 | 1): Armpit | undefined {
  const { top, bottom, left, right } = outline;
  const height = bottom - top;
  let widest = { inward: Infinity, y: top };
  for (let y = top; y < top + 0.6 * height; y++) {
    const inward = inwardAt(outline, side, y) ?? Infinity;
    if (inward < widest.inward) widest = { inward, y };
  }
  let best = { inward: -Infinity, y: widest.y };
  for (let y = widest.y; y < top + maxArmpitShare * height && y <= best.y + 0.06 * height; y++) {
    const inward = inwardAt(outline, side, y) ?? -Infinity;
    if (inward > best.inward) best = { inward, y };
  }
  if (!(best.inward - widest.inward > 0.07 * (right - left))) return undefined;
  return { x: Math.abs(best.inward), y: best.y, hasSleeve: true };
}

function sidePoint(outline: Outline, side: 0 | 1): Armpit {
  const { top, bottom, runs } = outline;
  const wanted = Math.round(top + 0.3 * (bottom - top));
  const y = runs.findIndex((run, row) => row >= wanted && run);
  const run = runs[y];
  if (!run) {
    throw refuseGarment(
      "The outline is not that of a garment. Use a photo of a top or a dress laid out flat.",
      {
        gate: "garment_outline",
        score: 0,
      },
    );
  }
  return { x: side === 1 ? run.right : run.left, y, hasSleeve: false };
}

interface Seam {
  readonly side: 0 | 1;
  readonly shoulder: Point;
  readonly armpit: Point;
}

/** The axis of a sleeve runs from the middle of its seam to the middle of its far end. */
function sleeveAxis(outline: Outline, { side, shoulder, armpit }: Seam): SleeveAxis {
  const origin = { x: (shoulder.x + armpit.x) / 2, y: (shoulder.y + armpit.y) / 2 };
  const cloth = sleevePoints(outline, side, armpit);
  const along = directionOf(cloth, origin);
  const turned = { x: -along.y, y: along.x };
  const up = turned.y > 0 ? { x: -turned.x, y: -turned.y } : turned;
  const project = (p: Point, axis: Point) => (p.x - origin.x) * axis.x + (p.y - origin.y) * axis.y;
  const distances = cloth.map((p) => project(p, along)).sort((a, b) => a - b);
  const length = distances[Math.floor(distances.length * 0.985)] ?? 0;
  const cuff = cloth
    .filter((p) => project(p, along) > 0.8 * length && project(p, along) < 0.97 * length)
    .map((p) => project(p, up));
  return {
    origin,
    along,
    up,
    length,
    upper: Math.max(...cuff),
    lower: Math.min(...cuff),
    seamHalf: Math.hypot(shoulder.x - armpit.x, shoulder.y - armpit.y) / 2,
  };
}

/** Every second pixel of cloth outside the armpit; below it the torso may bulge, so its run is left out. */
function sleevePoints(outline: Outline, side: 0 | 1, armpit: Point): Point[] {
  const { mask, top, bottom, left, right, runs } = outline;
  const points: Point[] = [];
  const [from, to] = side === 1 ? [armpit.x + 1, right] : [left, armpit.x - 1];
  for (let y = top; y <= bottom; y += 2) {
    const run = y >= armpit.y ? runs[y] : undefined;
    for (let x = from; x <= to; x += 2) {
      const isTorso = run && x >= run.left && x <= run.right;
      if (!isTorso && byteAt(mask.data, y * mask.width + x)) points.push({ x, y });
    }
  }
  return points;
}

function directionOf(cloth: readonly Point[], origin: Point): Point {
  const reach = (p: Point) => Math.hypot(p.x - origin.x, p.y - origin.y);
  const far = cloth.reduce((most, p) => Math.max(most, reach(p)), 0);
  const tip = cloth.filter((p) => reach(p) > 0.86 * far);
  const mean = (of: (p: Point) => number) => tip.reduce((sum, p) => sum + of(p), 0) / tip.length;
  const to = { x: mean((p) => p.x) - origin.x, y: mean((p) => p.y) - origin.y };
  const length = Math.hypot(to.x, to.y);
  return { x: to.x / length, y: to.y / length };
}

const minTorsoShare = 0.15;
const minLengthRatio = 0.4;

/** Reads collar, shoulders, armpits, hem and sleeves from the outline of a garment. Throws `garment_unsuitable`. */
export function garmentLandmarks(mask: Mask): GarmentShape {
  const outline = readOutline(mask);
  const armpits: Sides<Armpit> = [findArmpit(outline, 0), findArmpit(outline, 1)];
  const width = armpits[1].x - armpits[0].x;
  const torsoShare = width / (outline.right - outline.left);
  if (!(torsoShare >= minTorsoShare)) throw noGarment("garment_torso", torsoShare);
  const hem = findHem(outline);
  const lengthRatio = (hem[0].y - armpits[0].y) / width;
  if (!(lengthRatio >= minLengthRatio)) throw noGarment("garment_length", lengthRatio);
  const shoulders: Sides<Point> = [shoulderAbove(outline, armpits[0]), shoulderAbove(outline, armpits[1])];
  const collar = findCollar(outline, { armpits, shoulders, width });
  const hasSleeves = armpits[0].hasSleeve && armpits[1].hasSleeve;
  const axisOf = (side: 0 | 1) =>
    sleeveAxis(outline, { side, shoulder: shoulders[side], armpit: armpits[side] });
  const sleeves = hasSleeves ? ([axisOf(0), axisOf(1)] as const) : undefined;
  return { ...collar, shoulders, armpits, hem, sleeves, width, lengthRatio, runs: outline.runs };
}

function noGarment(gate: string, score: number) {
  return refuseGarment("The outline is not that of a top or a dress. Use a photo of one laid out flat.", {
    gate,
    score,
  });
}

function shoulderAbove({ tops }: Outline, armpit: Point): Point {
  return { x: armpit.x, y: tops[armpit.x] ?? armpit.y };
}

/** Near the lowest row; a cuff that hangs lower does not matter, the run in the middle is the hem. */
function findHem({ top, bottom, runs }: Outline): Sides<Point> {
  let y = Math.round(bottom - 0.03 * (bottom - top));
  while (y > top && !runs[y]) y--;
  const run = runs[y] ?? { left: 0, right: 0 };
  return [
    { x: run.left, y },
    { x: run.right, y },
  ];
}

interface Upper {
  readonly armpits: Sides<Point>;
  readonly shoulders: Sides<Point>;
  readonly width: number;
}

function findCollar(outline: Outline, { armpits, shoulders, width }: Upper) {
  const middle = Math.round((armpits[0].x + armpits[1].x) / 2);
  const neck: Sides<Point> = [
    highestBetween(outline, Math.round(middle - 0.42 * width), middle),
    highestBetween(outline, Math.round(middle + 0.42 * width), middle),
  ];
  const middleTop = outline.tops[middle] ?? -1;
  const dip = middleTop - (neck[0].y + neck[1].y) / 2;
  const shoulderHeight = (shoulders[0].y + shoulders[1].y) / 2;
  // No dip, and the middle is high above the shoulders: a hood or a closed collar.
  const hasHood = middleTop >= 0 && dip < 0.04 * width && shoulderHeight - middleTop > 0.3 * width;
  if (!hasHood) return { neck, neckMiddle: middleTop < 0 ? undefined : { x: middle, y: middleTop }, hasHood };
  const y = Math.round(shoulderHeight - 0.14 * width);
  const half = Math.round(0.22 * width);
  const worn: Sides<Point> = [
    { x: middle - half, y },
    { x: middle + half, y },
  ];
  return { neck: worn, neckMiddle: { x: middle, y: Math.round(y + 0.1 * width) }, hasHood };
}

/** The highest point of the outline on the way from one column to another; of equals the first. */
function highestBetween({ tops }: Outline, from: number, to: number): Point {
  const step = from < to ? 1 : -1;
  let best: Point | undefined;
  for (let x = from; x !== to + step; x += step) {
    const y = tops[x] ?? -1;
    if (y >= 0 && (!best || y < best.y)) best = { x, y };
  }
  if (!best) throw noGarment("garment_collar", 0);
  return best;
}
