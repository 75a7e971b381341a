import { byteAt, clamp, floatAt, intAt } from "../raster/grid.ts";

/** One scale of the picture that is being filled. */
export interface Level {
  /** Three floats per pixel, 0..255. */
  readonly image: Float32Array;
  /** 1 where the picture is unknown. */
  readonly mask: Uint8Array;
  readonly width: number;
  readonly height: number;
}

/** Patches are squares of 2 * patchRadius + 1 pixels. */
export const patchRadius = 3;

/** Guessed pixels count less than known ones. */
const guessWeight = 0.6;
const giveUpAbove = 60;
export const tooFar = 1e9;

/** Weighted mean squared difference of the patches around `target` and `source`; stops early once worse than `best`. */
type PatchDistance = (target: number, source: number, best: number) => number;

export function createPatchDistance({ image, mask, width, height }: Level): PatchDistance {
  return (target, source, best) => {
    const x = target % width;
    const y = (target / width) | 0;
    const left = Math.max(-patchRadius, -x);
    const right = Math.min(patchRadius, width - 1 - x);
    const top = Math.max(-patchRadius, -y);
    const bottom = Math.min(patchRadius, height - 1 - y);
    const limit = best * giveUpAbove;
    let sum = 0;
    let weights = 0;
    for (let dy = top; dy <= bottom; dy++) {
      const row = target + dy * width;
      let b = (source + dy * width + left) * 3;
      for (let pixel = row + left; pixel <= row + right; pixel++, b += 3) {
        const a = pixel * 3;
        const red = floatAt(image, a) - floatAt(image, b);
        const green = floatAt(image, a + 1) - floatAt(image, b + 1);
        const blue = floatAt(image, a + 2) - floatAt(image, b + 2);
        const weight = byteAt(mask, pixel) ? guessWeight : 1;
        sum += weight * (red * red + green * green + blue * blue);
        weights += weight;
      }
      if (sum > limit) return tooFar;
    }
    return sum / weights;
  };
}

/** A seeded generator of numbers 0..1 (linear congruential), so that a fill is the same on each run. */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 4_294_967_296;
  };
}

/** Which patch of the known picture each patch that touches the hole is matched with. */
export interface PatchField {
  readonly width: number;
  readonly height: number;
  /** Centres of patches that touch the hole, in row order. */
  readonly targets: Int32Array;
  readonly isTarget: Uint8Array;
  /** Centres of patches that lie wholly inside the known picture. */
  readonly sources: Int32Array;
  readonly isSource: Uint8Array;
  /** Per target centre the centre of its source, and the mean squared difference of both patches. */
  readonly match: Int32Array;
  readonly cost: Float32Array;
}

export function createField(level: Level): PatchField {
  const { width, height } = level;
  const sums = summedArea(level);
  const isTarget = new Uint8Array(width * height);
  const isSource = new Uint8Array(width * height);
  for (let i = 0; i < isTarget.length; i++) {
    const x = i % width;
    const y = Math.floor(i / width);
    if (unknownAround(level, sums, { x, y }) > 0) isTarget[i] = 1;
    else if (isInner(level, x, y)) isSource[i] = 1;
  }
  return {
    width,
    height,
    targets: indexesOf(isTarget),
    isTarget,
    sources: indexesOf(isSource),
    isSource,
    match: new Int32Array(width * height).fill(-1),
    cost: new Float32Array(width * height),
  };
}

function isInner({ width, height }: Level, x: number, y: number): boolean {
  return x >= patchRadius && y >= patchRadius && x < width - patchRadius && y < height - patchRadius;
}

function indexesOf(flags: Uint8Array): Int32Array {
  let count = 0;
  for (const flag of flags) count += flag;
  const indexes = new Int32Array(count);
  let next = 0;
  for (let i = 0; i < flags.length; i++) if (byteAt(flags, i)) indexes[next++] = i;
  return indexes;
}

/** sums[(y + 1) * (width + 1) + x + 1] counts the unknown pixels above and left of (x, y), itself included. */
function summedArea({ mask, width, height }: Level): Int32Array {
  const stride = width + 1;
  const sums = new Int32Array(stride * (height + 1));
  for (let i = 0; i < mask.length; i++) {
    const at = (Math.floor(i / width) + 1) * stride + (i % width) + 1;
    sums[at] =
      byteAt(mask, i) + intAt(sums, at - 1) + intAt(sums, at - stride) - intAt(sums, at - stride - 1);
  }
  return sums;
}

function unknownAround(level: Level, sums: Int32Array, { x, y }: { x: number; y: number }): number {
  const stride = level.width + 1;
  const left = Math.max(0, x - patchRadius);
  const right = Math.min(level.width, x + patchRadius + 1);
  const top = Math.max(0, y - patchRadius) * stride;
  const bottom = Math.min(level.height, y + patchRadius + 1) * stride;
  return (
    intAt(sums, bottom + right) -
    intAt(sums, top + right) -
    intAt(sums, bottom + left) +
    intAt(sums, top + left)
  );
}

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

/** Starts the matches of a level from those of the coarser one, else from random sources. */
export function seedField(field: PatchField, coarse: PatchField | undefined, random: () => number): void {
  for (const target of field.targets) {
    const inherited = coarse ? inheritedMatch(field, coarse, target) : -1;
    field.match[target] =
      inherited >= 0 ? inherited : intAt(field.sources, Math.floor(random() * field.sources.length));
  }
}

function inheritedMatch(field: PatchField, coarse: PatchField, target: number): number {
  const x = target % field.width;
  const y = Math.floor(target / field.width);
  const coarseX = Math.min(coarse.width - 1, x >> 1);
  const coarseY = Math.min(coarse.height - 1, y >> 1);
  const match = intAt(coarse.match, coarseY * coarse.width + coarseX);
  if (match < 0) return -1;
  const sourceX = (match % coarse.width) * 2 + (x & 1);
  const sourceY = Math.floor(match / coarse.width) * 2 + (y & 1);
  const source =
    clamp(sourceY, patchRadius, field.height - patchRadius - 1) * field.width +
    clamp(sourceX, patchRadius, field.width - patchRadius - 1);
  return byteAt(field.isSource, source) ? source : -1;
}
