import { byteAt, floatAt, intAt } from "../raster/cells.ts";
import { patchRadius } from "./level.ts";
import type { PatchDistance } from "./patch-distance.ts";
import type { PatchField } from "./patch-match.ts";

export interface Search {
  readonly field: PatchField;
  readonly distance: PatchDistance;
  readonly random: () => number;
}

/** One sweep of PatchMatch over all targets: neighbours' matches, then random tries in a shrinking window. */
export function searchPatches(search: Search, isForward: boolean): void {
  const { targets } = search.field;
  for (let n = 0; n < targets.length; n++) {
    const target = intAt(targets, isForward ? n : targets.length - 1 - n);
    propagate(search, target, isForward ? 1 : -1);
    searchAround(search, target);
  }
}

function propagate(search: Search, target: number, step: 1 | -1): void {
  const { field } = search;
  const x = target % field.width;
  const beside = target - step;
  const hasBeside = step === 1 ? x > 0 : x < field.width - 1;
  if (hasBeside && byteAt(field.isTarget, beside))
    tryMatch(search, target, intAt(field.match, beside) + step);
  const above = target - step * field.width;
  if (above >= 0 && above < field.isTarget.length && byteAt(field.isTarget, above)) {
    tryMatch(search, target, intAt(field.match, above) + step * field.width);
  }
}

function searchAround(search: Search, target: number): void {
  const { width, height, match } = search.field;
  const x = intAt(match, target) % width;
  const y = (intAt(match, target) / width) | 0;
  for (let radius = Math.max(width, height); radius > 1; radius >>= 1) {
    const nextX = (x + (search.random() * 2 - 1) * radius) | 0;
    const nextY = (y + (search.random() * 2 - 1) * radius) | 0;
    const isInside =
      nextX >= patchRadius &&
      nextY >= patchRadius &&
      nextX < width - patchRadius &&
      nextY < height - patchRadius;
    if (isInside) tryMatch(search, target, nextY * width + nextX);
  }
}

function tryMatch({ field, distance }: Search, target: number, source: number): void {
  if (source < 0 || source >= field.isSource.length || !byteAt(field.isSource, source)) return;
  if (source === intAt(field.match, target)) return;
  const cost = distance(target, source, floatAt(field.cost, target));
  if (cost >= floatAt(field.cost, target)) return;
  field.cost[target] = cost;
  field.match[target] = source;
}
