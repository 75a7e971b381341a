import sharp from "sharp";
import { comparedPx, differenceOf } from "./difference.ts";

/** Side of the square that the hash is made of. */
const hashedPx = 32;
const hashSide = 8;
const bitsPerPart = 16;
const parts = 4;

/** What is known of how a picture looks. */
export interface Look {
  /** 64 bits as PostgreSQL stores them, with a sign. */
  readonly hash: bigint;
  /** For each 16 bits, from the highest: what they are, and what they may be in a picture that looks the same. */
  readonly parts: readonly (readonly number[])[];
  /** RGB bytes, `comparedPx` × `comparedPx`, row-major; the proportions are lost. */
  readonly pixels: Uint8Array;
}

/** Decides nothing: transparent parts are shown over a colour that pictures seldom have, so that a cut-out is not its photo. */
const behind = "#c80064";

/** The look of a thumbnail of ours. Throws what the decoder throws. */
export async function lookOf(thumbnail: Buffer): Promise<Look> {
  const picture = sharp(thumbnail).flatten({ background: behind }).toColourspace("srgb").removeAlpha();
  const [grey, pixels] = await Promise.all([
    picture.clone().greyscale().resize(hashedPx, hashedPx, { fit: "fill" }).raw().toBuffer(),
    picture.clone().resize(comparedPx, comparedPx, { fit: "fill" }).raw().toBuffer(),
  ]);
  return { ...hashOf(wavesOf(grey)), pixels };
}

const cosines = Array.from({ length: hashSide }, (_none, wave) =>
  Float64Array.from({ length: hashedPx }, (_no, at) =>
    Math.cos(((2 * at + 1) * (wave + 1) * Math.PI) / (2 * hashedPx)),
  ),
);

/** The 64 longest waves of the discrete cosine transform, without those that run in one direction alone. */
function wavesOf(grey: Uint8Array): Float64Array {
  const rows = cosines.map((across) =>
    Float64Array.from({ length: hashedPx }, (_none, row) =>
      sumOf(across, (at) => grey[row * hashedPx + at] ?? 0),
    ),
  );
  const waves = new Float64Array(hashSide * hashSide);
  for (const [y, down] of cosines.entries())
    for (const [x, row] of rows.entries()) waves[y * hashSide + x] = sumOf(down, (at) => row[at] ?? 0);
  return waves;
}

function sumOf(weights: Float64Array, valueAt: (at: number) => number): number {
  let sum = 0;
  for (const [at, weight] of weights.entries()) sum += weight * valueAt(at);
  return sum;
}

/** Bits of a part that are most likely to differ in a picture that looks the same, since their waves are weak. */
const unsureBits = 4;

/** What rounding makes of a plain picture stays below it. */
const leastWave = 1;

function hashOf(waves: Float64Array): Pick<Look, "hash" | "parts"> {
  let hash = 0n;
  for (const wave of waves) hash = (hash << 1n) | (wave > leastWave ? 1n : 0n);
  const found = Array.from({ length: parts }, (_none, part) =>
    valuesOf(waves.subarray(part * bitsPerPart, (part + 1) * bitsPerPart)),
  );
  return { hash: BigInt.asIntN(64, hash), parts: found };
}

function valuesOf(waves: Float64Array): number[] {
  const sure = waves.reduce((bits, wave) => bits * 2 + (wave > leastWave ? 1 : 0), 0);
  const weakest = [...waves.keys()].toSorted((a, b) => Math.abs(waves[a] ?? 0) - Math.abs(waves[b] ?? 0));
  const flips = weakest.slice(0, unsureBits).map((place) => 1 << (bitsPerPart - 1 - place));
  let values = [sure];
  for (const flip of flips) values = [...values, ...values.map((value) => value ^ flip)];
  return values;
}

/** Of 255: what the tone of a twelfth of the side may differ by. Re-encoded pictures stay below 12, edits begin at 18. */
const mostDifference = 14;

/**
 * Whether two looks are the same picture: encoded again, in another size, a little cropped, lighter or darker; not when a part
 * of it was changed.
 */
export function isSame(one: Look, other: Look): boolean {
  return differenceOf(one.pixels, other.pixels) <= mostDifference;
}
