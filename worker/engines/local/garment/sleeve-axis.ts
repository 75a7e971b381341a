import { byteAt } from "../raster/cells.ts";
import type { Point } from "../raster/grid.ts";
import type { SleeveAxis } from "./garment-shape.ts";
import type { Outline } from "./outline.ts";

interface Seam {
  readonly side: 0 | 1;
  readonly shoulder: Point;
  readonly armpit: Point;
}

/** The axis of a sleeve runs from the middle of its seam to the middle of its far end. */
export function sleeveAxis(outline: Outline, { side, shoulder, armpit }: Seam): SleeveAxis {
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
