import type { Sides } from "../people/body.ts";
import type { Mask, Point } from "../raster/grid.ts";
import { findArmpit, type Armpit } from "./find-armpit.ts";
import type { GarmentShape } from "./garment-shape.ts";
import { readOutline, type Outline } from "./outline.ts";
import { refuseGarment } from "./refuse-garment.ts";
import { sleeveAxis } from "./sleeve-axis.ts";

const leastTorsoShare = 0.15;
const leastLengthRatio = 0.4;

/** Reads collar, shoulders, armpits, hem and sleeves from the outline of a garment. Throws `garment_unsuitable`. */
export function garmentLandmarks(mask: Mask): GarmentShape {
  const outline = readOutline(mask);
  const armpits: Sides<Armpit> = [findArmpit(outline, 0), findArmpit(outline, 1)];
  const width = armpits[1].x - armpits[0].x;
  const torsoShare = width / (outline.right - outline.left);
  if (!(torsoShare >= leastTorsoShare)) throw noGarment("garment_torso", torsoShare);
  const hem = findHem(outline);
  const lengthRatio = (hem[0].y - armpits[0].y) / width;
  if (!(lengthRatio >= leastLengthRatio)) throw noGarment("garment_length", lengthRatio);
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
  // No dip, and the middle stands high above the shoulders: a hood or a closed collar.
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
