import type { Sides } from "../people/body.ts";
import { byteAt, clamp, emptyPlane, type Point, sampleLinear, type Size } from "../raster/grid.ts";
import type { Scene } from "./change.ts";

/** From a point of the person's photo to a point of the garment's photo. */
type PointMap = (x: number, y: number) => Point;

interface Anchor {
  readonly from: Point;
  readonly to: Point;
}

/** Thin-plate spline through the anchors; `smoothing` 0 goes through each, more bends less. */
function thinPlateSpline(anchors: readonly Anchor[], smoothing: number): PointMap {
  const weights = solve(systemOf(anchors, smoothing));
  const n = anchors.length;
  const [base, slopeX, slopeY] = [weights[n], weights[n + 1], weights[n + 2]];
  if (!base || !slopeX || !slopeY) throw new RangeError("a spline needs anchors");
  return (x, y) => {
    let toX = base.x + slopeX.x * x + slopeY.x * y;
    let toY = base.y + slopeX.y * x + slopeY.y * y;
    anchors.forEach(({ from }, i) => {
      const bend = kernel((x - from.x) ** 2 + (y - from.y) ** 2);
      toX += (weights[i]?.x ?? 0) * bend;
      toY += (weights[i]?.y ?? 0) * bend;
    });
    return { x: toX, y: toY };
  };
}

function kernel(squaredDistance: number): number {
  return squaredDistance <= 1e-9 ? 0 : squaredDistance * Math.log(squaredDistance);
}

/** Rows of the linear system, each with its two right-hand sides at the end. */
function systemOf(anchors: readonly Anchor[], smoothing: number): number[][] {
  const rows = anchors.map(({ from, to }, i) => {
    const bends = anchors.map((other, j) => {
      const bend = kernel((from.x - other.from.x) ** 2 + (from.y - other.from.y) ** 2);
      return i === j ? bend + smoothing : bend;
    });
    return [...bends, 1, from.x, from.y, to.x, to.y];
  });
  const sides = [anchors.map(() => 1), anchors.map(({ from }) => from.x), anchors.map(({ from }) => from.y)];
  return [...rows, ...sides.map((side) => [...side, 0, 0, 0, 0, 0])];
}

/** Gauss-Jordan with partial pivoting. */
function solve(rows: number[][]): Point[] {
  const size = rows.length;
  for (let column = 0; column < size; column++) {
    const candidates = rows.slice(column).map((row) => Math.abs(row[column] ?? 0));
    const pivot = column + candidates.indexOf(Math.max(...candidates));
    [rows[column], rows[pivot]] = [rows[pivot] ?? [], rows[column] ?? []];
    const pivotRow = rows[column] ?? [];
    rows.forEach((row, i) => {
      if (i !== column) subtract(row, pivotRow, column);
    });
  }
  return rows.map((row, i) => ({
    x: (row[size] ?? 0) / (row[i] ?? 1),
    y: (row[size + 1] ?? 0) / (row[i] ?? 1),
  }));
}

function subtract(row: number[], pivotRow: readonly number[], column: number): void {
  const factor = (row[column] ?? 0) / (pivotRow[column] ?? 1);
  if (factor === 0) return;
  for (let k = column; k < row.length; k++) row[k] = (row[k] ?? 0) - factor * (pivotRow[k] ?? 0);
}

const stepPx = 6;

/** The same mapping, evaluated on a coarse grid and interpolated: much cheaper per pixel. */
function gridMap(map: PointMap, size: Size): PointMap {
  const coarse = { width: Math.ceil(size.width / stepPx) + 2, height: Math.ceil(size.height / stepPx) + 2 };
  const xs = emptyPlane(coarse);
  const ys = emptyPlane(coarse);
  for (let i = 0; i < xs.data.length; i++) {
    const to = map((i % coarse.width) * stepPx, Math.floor(i / coarse.width) * stepPx);
    xs.data[i] = to.x;
    ys.data[i] = to.y;
  }
  return (x, y) => ({
    x: sampleLinear(xs, x / stepPx, y / stepPx),
    y: sampleLinear(ys, x / stepPx, y / stepPx),
  });
}

/** How the torso of the garment lies on the person; lengths are in shoulder widths unless noted. */
export interface TorsoFit {
  /** Shoulder widths per pixel of the garment. */
  readonly unit: number;
  readonly hemDown: number;
  readonly neckHalf: number;
  /** Ends of the sleeve seams on the person, in px. */
  readonly shoulders: Sides<Point>;
  readonly armpits: Sides<Point>;
  readonly map: PointMap;
}

const armpitDown = 0.42;
const neckDown = -0.2;
const smoothing = 60;

export function fitTorso(scene: Scene): TorsoFit {
  const { frame, garment, picture } = scene;
  const { shape } = garment;
  const chest: Sides<number> = [chestHalf(scene, -1), chestHalf(scene, 1)];
  const unit = (chest[0] + chest[1]) / shape.width;
  const neckHalf = clamp(((shape.neck[1].x - shape.neck[0].x) / 2) * unit * 1.02, 0.16, 0.34);
  const fit = {
    unit,
    neckHalf,
    hemDown: hemDownOf(scene, chest[0] + chest[1]),
    shoulders: [frame.at(-0.55, -0.08), frame.at(0.55, -0.08)],
    armpits: [frame.at(-chest[0], armpitDown), frame.at(chest[1], armpitDown)],
  } as const;
  const anchors = [...upperAnchors(scene, fit), ...waistAnchors(scene, fit), ...hemAnchors(scene, fit)];
  return { ...fit, map: gridMap(thinPlateSpline(anchors, smoothing), picture) };
}

type Measures = Omit<TorsoFit, "map">;

/** How far the old clothes reach from the spine to one side. */
function clothesReach({ frame, clothes, picture }: Scene, down: number, sign: 1 | -1): number {
  const start = frame.at(0, down);
  let steps = 0;
  while (steps < frame.shoulderWidthPx * 0.9) {
    const x = Math.round(start.x + frame.right.x * sign * steps);
    const y = Math.round(start.y + frame.right.y * sign * steps);
    const isInside = x >= 0 && y >= 0 && x < picture.width && y < picture.height;
    if (!isInside || !byteAt(clothes.mask.data, y * picture.width + x)) break;
    steps++;
  }
  return steps / frame.shoulderWidthPx;
}

function chestHalf(scene: Scene, sign: 1 | -1): number {
  const reach = clothesReach(scene, 0.5, sign);
  // Further than that the arm is in front of the chest.
  return reach > 0.52 ? 0.44 : clamp(reach, 0.38, 0.46);
}

function hemDownOf({ frame, garment, isLong }: Scene, chestWidth: number): number {
  const ratio = garment.shape.lengthRatio;
  if (isLong) return armpitDown + ratio * chestWidth * 1.02;
  return clamp(armpitDown + ratio * 0.92, frame.torsoLength * 0.85, frame.torsoLength + 0.22);
}

function upperAnchors({ frame, garment }: Scene, fit: Measures): Anchor[] {
  const { shape } = garment;
  const anchors: Anchor[] = [
    { from: frame.at(-fit.neckHalf, neckDown), to: shape.neck[0] },
    { from: frame.at(fit.neckHalf, neckDown), to: shape.neck[1] },
    { from: fit.armpits[0], to: shape.armpits[0] },
    { from: fit.armpits[1], to: shape.armpits[1] },
  ];
  if (shape.neckMiddle) {
    const dip = shape.neckMiddle.y - (shape.neck[0].y + shape.neck[1].y) / 2;
    anchors.push({ from: frame.at(0, neckDown + Math.max(0, dip * fit.unit)), to: shape.neckMiddle });
  }
  if (shape.sleeves) {
    anchors.push({ from: fit.shoulders[0], to: shape.shoulders[0] });
    anchors.push({ from: fit.shoulders[1], to: shape.shoulders[1] });
  }
  return anchors;
}

/** A dress keeps its own waist and the line of its skirt. */
function waistAnchors({ frame, garment, isLong }: Scene, fit: Measures): Anchor[] {
  if (!isLong) return [];
  const { shape } = garment;
  const top = shape.armpits[0].y;
  const middle = (shape.armpits[0].x + shape.armpits[1].x) / 2;
  return [0.2, 0.4, 0.65].flatMap((share) => {
    const y = Math.round(top + share * (shape.hem[0].y - top));
    const run = shape.runs[y];
    if (!run) return [];
    const down = armpitDown + share * (fit.hemDown - armpitDown);
    return [run.left, run.right].map((x) => ({
      from: frame.at((x - middle) * fit.unit, down),
      to: { x, y },
    }));
  });
}

function hemAnchors(scene: Scene, { unit, hemDown }: Measures): Anchor[] {
  const { frame, garment, isLong } = scene;
  const { hem } = garment.shape;
  const ownHalf = ((hem[1].x - hem[0].x) / 2) * unit;
  const half = (sign: 1 | -1) => {
    if (isLong) return Math.max(0.42, ownHalf);
    const reach = clothesReach(scene, Math.min(frame.torsoLength * 0.97, hemDown - 0.05), sign);
    return clamp(reach, 0.36, clamp(ownHalf + 0.08, 0.5, 0.6));
  };
  const [left, right] = [half(-1), half(1)];
  return [
    { from: frame.at(-left, hemDown), to: hem[0] },
    { from: frame.at(right, hemDown), to: hem[1] },
    { from: frame.at((right - left) / 2, hemDown), to: { x: (hem[0].x + hem[1].x) / 2, y: hem[0].y } },
  ];
}
