import sharp from "sharp";
import { pictureLimits } from "../platform/picture-limits.ts";
import { chipOfPixel, chips, idOf, markBits, syncOwner, tilePx } from "./pattern.ts";

export interface FoundMark {
  /** 32 bits. */
  readonly id: number;
  /** How far the place of the tiles stands out, in standard deviations; unmarked pictures reach 5. */
  readonly clarity: number;
}

/** Sizes at which a picture is looked at, as parts of the size that it has: as it is, and after half the size. */
const scales = [
  { factor: 1, sidePx: 1_280 },
  { factor: 2, sidePx: 768 },
] as const;
const leastClarity = 6.5;
const maxPixels = pictureLimits.uploadMegapixels * 1_000_000;
const decodeSeconds = 10;

/** The mark of a picture; null without one, and for what is no picture. Looks at its middle only, for up to a third of a second. */
export async function findMark(bytes: Buffer): Promise<FoundMark | null> {
  for (const scale of scales) {
    const grey = await decodeMiddle(bytes, scale).catch(() => null);
    if (!grey) return null;
    const found = findIn(foldTiles(grey));
    if (found) return found;
  }
  return null;
}

interface Grey {
  readonly data: Buffer;
  readonly widthPx: number;
  readonly heightPx: number;
}

async function decodeMiddle(bytes: Buffer, { factor, sidePx }: (typeof scales)[number]): Promise<Grey> {
  const picture = sharp(bytes, { limitInputPixels: maxPixels, autoOrient: true }).timeout({
    seconds: decodeSeconds,
  });
  const { width, height } = (await picture.metadata()).autoOrient;
  const [cutWidth, cutHeight] = [Math.min(width, sidePx), Math.min(height, sidePx)];
  const middle = {
    left: Math.floor((width - cutWidth) / 2),
    top: Math.floor((height - cutHeight) / 2),
    width: cutWidth,
    height: cutHeight,
  };
  const { data, info } = await picture
    .extract(middle)
    .resize(cutWidth * factor, cutHeight * factor, { fit: "fill", kernel: "cubic" })
    .flatten({ background: "#ffffff" })
    .greyscale()
    .toColourspace("b-w")
    .raw()
    .toBuffer({ resolveWithObject: true });
  return { data, widthPx: info.width, heightPx: info.height };
}

const reachPx = 3;
/** Larger steps belong to the picture and count less. */
const usualStep = 12;

/** What each pixel differs from its surroundings, summed over all tiles. */
function foldTiles({ data, widthPx, heightPx }: Grey): Float64Array {
  const sums = areaSums(data, widthPx, heightPx);
  const folded = new Float64Array(tilePx ** 2);
  const across = widthPx + 1;
  for (let y = 0; y < heightPx; y += 1) {
    const [top, bottom] = [Math.max(0, y - reachPx), Math.min(heightPx, y + reachPx + 1)];
    for (let x = 0; x < widthPx; x += 1) {
      const [left, right] = [Math.max(0, x - reachPx), Math.min(widthPx, x + reachPx + 1)];
      const sum =
        (sums[bottom * across + right] ?? 0) -
        (sums[top * across + right] ?? 0) -
        (sums[bottom * across + left] ?? 0) +
        (sums[top * across + left] ?? 0);
      const step = (data[y * widthPx + x] ?? 0) - sum / ((bottom - top) * (right - left));
      const at = (y % tilePx) * tilePx + (x % tilePx);
      folded[at] = (folded[at] ?? 0) + step / (1 + (step / usualStep) ** 2);
    }
  }
  return folded;
}

/** The sum of all that is above and to the left of each corner. */
function areaSums(data: Buffer, widthPx: number, heightPx: number): Float64Array {
  const across = widthPx + 1;
  const sums = new Float64Array(across * (heightPx + 1));
  for (let y = 0; y < heightPx; y += 1) {
    let row = 0;
    for (let x = 0; x < widthPx; x += 1) {
      row += data[y * widthPx + x] ?? 0;
      sums[(y + 1) * across + x + 1] = (sums[y * across + x + 1] ?? 0) + row;
    }
  }
  return sums;
}

function findIn(folded: Float64Array): FoundMark | null {
  const { at, clarity } = findTile(folded);
  if (!(clarity >= leastClarity)) return null;
  const { owner, sign } = chips();
  const [left, top] = [at % tilePx, Math.floor(at / tilePx)];
  const sums = new Float64Array(markBits);
  for (let pixel = 0; pixel < tilePx ** 2; pixel += 1) {
    const chip = chipOfPixel(pixel);
    const bit = owner[chip] ?? syncOwner;
    if (bit === syncOwner) continue;
    const [x, y] = [(pixel + left) % tilePx, (Math.floor(pixel / tilePx) + top) % tilePx];
    sums[bit] = (sums[bit] ?? 0) + (sign[chip] ?? 0) * (folded[y * tilePx + x] ?? 0);
  }
  const id = readBits(sums);
  return id === null ? null : { id, clarity };
}

/** Bits that were hardly seen, of which each combination is tried: 256 of 16 million checksums. */
const doubtful = 8;

function readBits(sums: Float64Array): number | null {
  const bits = Int8Array.from(sums, (sum) => (sum > 0 ? 1 : -1));
  const weakest = [...sums.keys()]
    .toSorted((one, other) => Math.abs(sums[one] ?? 0) - Math.abs(sums[other] ?? 0))
    .slice(0, doubtful);
  for (let flips = 0; flips < 2 ** doubtful; flips += 1) {
    const tried = Int8Array.from(bits);
    for (const [at, bit] of weakest.entries()) if ((flips >> at) & 1) tried[bit] = -(tried[bit] ?? 0);
    const id = idOf(tried);
    if (id !== null) return id;
  }
  return null;
}

/** Where a tile begins: the shift at which the chips of sync fit best. */
function findTile(folded: Float64Array): { readonly at: number; readonly clarity: number } {
  const size = tilePx ** 2;
  const found = transformed(Float64Array.from(folded));
  const { owner, sign } = chips();
  const sync = transformed(
    Float64Array.from({ length: size }, (_, pixel) => {
      const chip = chipOfPixel(pixel);
      return owner[chip] === syncOwner ? (sign[chip] ?? 0) : 0;
    }),
  );
  const [real, imaginary] = [new Float64Array(size), new Float64Array(size)];
  for (let at = 0; at < size; at += 1) {
    const [a = 0, b = 0] = [found.real[at], found.imaginary[at]];
    const [c = 0, d = 0] = [sync.real[at], sync.imaginary[at]];
    // What is strong in the picture itself counts less.
    const weight = Math.sqrt(Math.hypot(a, b)) || 1;
    real[at] = (a * c + b * d) / weight;
    // Turned round, since forward and back differ by that alone.
    imaginary[at] = -(b * c - a * d) / weight;
  }
  const { real: fit } = transformed(real, imaginary);
  let [best, squares] = [0, 0];
  for (const [at, value] of fit.entries()) {
    squares += value * value;
    if (value > (fit[best] ?? 0)) best = at;
  }
  return { at: best, clarity: (fit[best] ?? 0) / Math.sqrt(squares / size) };
}

/** Fourier transform of a tile, in place. */
function transformed(real: Float64Array, imaginary = new Float64Array(real.length)) {
  for (let row = 0; row < tilePx; row += 1) transformLine(real, imaginary, { start: row * tilePx, step: 1 });
  for (let column = 0; column < tilePx; column += 1)
    transformLine(real, imaginary, { start: column, step: tilePx });
  return { real, imaginary };
}

interface Line {
  readonly start: number;
  readonly step: number;
}

function transformLine(real: Float64Array, imaginary: Float64Array, { start, step }: Line): void {
  sortByReversedBits(real, { start, step });
  sortByReversedBits(imaginary, { start, step });
  for (let length = 2; length <= tilePx; length *= 2)
    for (let turn = 0; turn < length / 2; turn += 1) {
      const angle = (-2 * Math.PI * turn) / length;
      const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
      for (let at = turn; at < tilePx; at += length) {
        const [even, odd] = [start + at * step, start + (at + length / 2) * step];
        const [a = 0, b = 0] = [real[odd], imaginary[odd]];
        const [c = 0, d = 0] = [real[even], imaginary[even]];
        const [turnedReal, turnedImaginary] = [a * cos - b * sin, a * sin + b * cos];
        real[odd] = c - turnedReal;
        imaginary[odd] = d - turnedImaginary;
        real[even] = c + turnedReal;
        imaginary[even] = d + turnedImaginary;
      }
    }
}

function sortByReversedBits(values: Float64Array, { start, step }: Line): void {
  for (let at = 1, reversed = 0; at < tilePx; at += 1) {
    let bit = tilePx >> 1;
    for (; reversed & bit; bit >>= 1) reversed ^= bit;
    reversed ^= bit;
    if (at >= reversed) continue;
    const [one, other] = [start + at * step, start + reversed * step];
    const moved = values[one] ?? 0;
    values[one] = values[other] ?? 0;
    values[other] = moved;
  }
}
