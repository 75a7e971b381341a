import type { Sides } from "../people/body.ts";
import { byteAt } from "../raster/cells.ts";
import { clamp } from "../raster/clamp.ts";
import type { Point } from "../raster/grid.ts";
import { gridMap } from "./grid-map.ts";
import type { Scene } from "./scene.ts";
import { thinPlateSpline, type Anchor, type PointMap } from "./thin-plate-spline.ts";

/** How the torso of the garment lies on the person; lengths in shoulder widths unless said otherwise. */
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
