import { byteAt, intAt } from "../raster/cells.ts";
import { patchRadius, type Level } from "./level.ts";

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
