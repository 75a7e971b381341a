import type { Point } from "../raster/grid.ts";
import type { Outline } from "./outline.ts";
import { refuseGarment } from "./refuse-garment.ts";

export interface Armpit extends Point {
  readonly hasSleeve: boolean;
}

/** Rows below this share of the height hold no armpit. */
const lowestShare = 0.8;

/**
 * The armpit of one side (0 left, 1 right): the first row where the run in the middle jumps inwards, since a gap opens
 * below the sleeve; failing that the first place where the outline stops moving inwards; failing that there is no sleeve.
 */
export function findArmpit(outline: Outline, side: 0 | 1): Armpit {
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
  for (let y = top; y < top + lowestShare * (bottom - top); y++) {
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
  for (let y = widest.y; y < top + lowestShare * height && y <= best.y + 0.06 * height; y++) {
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
