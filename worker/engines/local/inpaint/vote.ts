import { byteAt, floatAt, intAt } from "../raster/cells.ts";
import { patchRadius, type Level } from "./level.ts";
import type { PatchField } from "./patch-match.ts";

/** Rewrites the unknown pixels: each is the weighted mean of what all matched patches over it say. */
export function vote(level: Level, field: PatchField): void {
  const sums = new Float32Array(level.image.length);
  const weights = new Float32Array(level.mask.length);
  const spread = costQuartile(field) + 1e-3;
  for (const target of field.targets) {
    const closeness = Math.exp(-floatAt(field.cost, target) / (2 * spread));
    // Patches centred on known pixels hold on to the surroundings.
    addPatch(
      { level, sums, weights },
      { target, source: intAt(field.match, target) },
      byteAt(level.mask, target) ? closeness : closeness * 1.5,
    );
  }
  for (let i = 0; i < weights.length; i++) {
    const weight = floatAt(weights, i);
    if (weight <= 0) continue;
    for (let c = i * 3; c < i * 3 + 3; c++) level.image[c] = floatAt(sums, c) / weight;
  }
}

interface Ballot {
  readonly level: Level;
  readonly sums: Float32Array;
  readonly weights: Float32Array;
}

function addPatch(
  { level, sums, weights }: Ballot,
  pair: { target: number; source: number },
  weight: number,
): void {
  const { width, height, mask, image } = level;
  const x = pair.target % width;
  const y = (pair.target / width) | 0;
  const right = Math.min(patchRadius, width - 1 - x);
  const left = Math.max(-patchRadius, -x);
  const bottom = Math.min(patchRadius, height - 1 - y);
  for (let dy = Math.max(-patchRadius, -y); dy <= bottom; dy++) {
    for (let dx = left; dx <= right; dx++) {
      const pixel = pair.target + dy * width + dx;
      if (!byteAt(mask, pixel)) continue;
      const from = (pair.source + dy * width + dx) * 3;
      const to = pixel * 3;
      sums[to] = floatAt(sums, to) + weight * floatAt(image, from);
      sums[to + 1] = floatAt(sums, to + 1) + weight * floatAt(image, from + 1);
      sums[to + 2] = floatAt(sums, to + 2) + weight * floatAt(image, from + 2);
      weights[pixel] = floatAt(weights, pixel) + weight;
    }
  }
}

function costQuartile({ targets, cost }: PatchField): number {
  const sorted = Float32Array.from(targets, (target) => floatAt(cost, target)).toSorted();
  return floatAt(sorted, Math.floor(sorted.length * 0.75));
}
