import { byteAt, floatAt, intAt } from "../raster/grid.ts";
import {
  createField,
  createPatchDistance,
  createRandom,
  type Level,
  type PatchField,
  patchRadius,
  searchPatches,
  seedField,
  tooFar,
} from "./patch-match.ts";

/** The next coarser scale; a pixel that covers any unknown pixel is unknown. */
function halveLevel(level: Level): Level {
  const width = level.width >> 1;
  const height = level.height >> 1;
  const coarse = {
    image: new Float32Array(width * height * 3),
    mask: new Uint8Array(width * height),
    width,
    height,
  };
  for (let i = 0; i < coarse.mask.length; i++) {
    const from = 2 * Math.floor(i / width) * level.width + 2 * (i % width);
    averageKnown(level, coarse, { from, to: i });
  }
  return coarse;
}

function averageKnown(fine: Level, coarse: Level, { from, to }: { from: number; to: number }): void {
  let known = 0;
  const sum = [0, 0, 0] as [number, number, number];
  for (const pixel of [from, from + 1, from + fine.width, from + fine.width + 1]) {
    if (byteAt(fine.mask, pixel)) continue;
    known++;
    sum[0] += floatAt(fine.image, pixel * 3);
    sum[1] += floatAt(fine.image, pixel * 3 + 1);
    sum[2] += floatAt(fine.image, pixel * 3 + 2);
  }
  coarse.mask[to] = known < 4 ? 1 : 0;
  if (known > 0) coarse.image.set([sum[0] / known, sum[1] / known, sum[2] / known], to * 3);
}

/** First guess for the unknown pixels: ring by ring inwards, the mean of the neighbours that are known already. */
function onionFill(level: Level): void {
  const unknown = Uint8Array.from(level.mask);
  let open = [...unknown.keys()].filter((i) => byteAt(unknown, i) === 1);
  while (open.length > 0) {
    const ring = open.filter((i) => fillFromNeighbours(level, unknown, i));
    if (ring.length === 0) return;
    for (const i of ring) unknown[i] = 0;
    open = open.filter((i) => byteAt(unknown, i) === 1);
  }
}

function fillFromNeighbours({ image, width, height }: Level, unknown: Uint8Array, i: number): boolean {
  const x = i % width;
  const y = Math.floor(i / width);
  const sum: [number, number, number] = [0, 0, 0];
  let known = 0;
  for (let n = 0; n < 9; n++) {
    const nx = x + (n % 3) - 1;
    const ny = y + Math.floor(n / 3) - 1;
    if (nx < 0 || ny < 0 || nx >= width || ny >= height) continue;
    const neighbour = ny * width + nx;
    if (byteAt(unknown, neighbour)) continue;
    known++;
    for (const c of [0, 1, 2] as const) sum[c] += floatAt(image, neighbour * 3 + c);
  }
  if (known === 0) return false;
  for (const c of [0, 1, 2] as const) image[i * 3 + c] = sum[c] / known;
  return true;
}

/** Rewrites the unknown pixels: each is the weighted mean of all matched patches over it. */
function vote(level: Level, field: PatchField): void {
  const sums = new Float32Array(level.image.length);
  const weights = new Float32Array(level.mask.length);
  const spread = costQuartile(field) + 1e-3;
  for (const target of field.targets) {
    const closeness = Math.exp(-floatAt(field.cost, target) / (2 * spread));
    // Patches centred on known pixels count more: they tie the fill to its surroundings.
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

const coarsestSidePx = 40;
const maxLevels = 6;
/** A level with fewer patches to copy from is skipped. */
const minSources = 64;
const seed = 12_345;

interface FillEvents {
  /** `fraction` of the search steps that are done. */
  onStep(fraction: number): void;
  onLevel(level: Level): Promise<void>;
}

/**
 * Fills the unknown pixels of `level` in place with multi-scale PatchMatch: from coarse to fine, patches over the hole
 * are matched with patches of the known picture and vote for its pixels. Returns false when there is nothing to copy from.
 */
export async function fillHole(level: Level, events: FillEvents): Promise<boolean> {
  const steps = planLevels(level);
  if (steps.length === 0) return false;
  const random = createRandom(seed);
  const work = steps.reduce((sum, step) => sum + step.work, 0);
  let done = 0;
  let coarse: Step | undefined;
  for (const step of steps) {
    if (coarse) inheritPixels(step.level, coarse.level);
    else onionFill(step.level);
    seedField(step.field, coarse?.field, random);
    const before = done;
    refine(step, random, (share) => events.onStep((before + share * step.work) / work));
    done += step.work;
    await events.onLevel(step.level);
    coarse = step;
  }
  return true;
}

interface Step {
  readonly level: Level;
  readonly field: PatchField;
  readonly rounds: number;
  readonly sweeps: number;
  readonly work: number;
}

/** The levels that can be worked on, coarsest first. */
function planLevels(finest: Level): readonly Step[] {
  const steps: Step[] = [];
  let level = finest;
  for (let depth = 0; depth < maxLevels; depth++) {
    const field = createField(level);
    if (field.sources.length < minSources || field.targets.length === 0) break;
    const rounds = depth === 0 ? 2 : depth === 1 ? 4 : 8;
    const sweeps = depth === 0 ? 2 : 4;
    steps.unshift({ level, field, rounds, sweeps, work: field.targets.length * rounds * sweeps });
    if (Math.min(level.width, level.height) <= coarsestSidePx) break;
    level = halveLevel(level);
  }
  return steps;
}

function refine(
  { level, field, rounds, sweeps }: Step,
  random: () => number,
  onShare: (share: number) => void,
) {
  const distance = createPatchDistance(level);
  for (let round = 0; round < rounds; round++) {
    for (const target of field.targets) {
      field.cost[target] = distance(target, field.match[target] as number, tooFar);
    }
    for (let sweep = 0; sweep < sweeps; sweep++) {
      searchPatches({ field, distance, random }, sweep % 2 === 0);
      onShare((round * sweeps + sweep + 1) / (rounds * sweeps));
    }
    vote(level, field);
  }
}

function inheritPixels(fine: Level, coarse: Level): void {
  for (let i = 0; i < fine.mask.length; i++) {
    if (!byteAt(fine.mask, i)) continue;
    const x = Math.min(coarse.width - 1, (i % fine.width) >> 1);
    const y = Math.min(coarse.height - 1, Math.floor(i / fine.width) >> 1);
    const from = (y * coarse.width + x) * 3;
    for (let c = 0; c < 3; c++) fine.image[i * 3 + c] = floatAt(coarse.image, from + c);
  }
}
