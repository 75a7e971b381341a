import { chipOfPixel, chips, syncOwner, tilePx } from "./pattern.ts";

/** How the chips of sync lie in a folded tile. */
export interface Fit {
  /** The cell at which a tile begins. */
  readonly at: number;
  /** How far this place stands out, in standard deviations of all places. */
  readonly clarity: number;
}

const cells = tilePx ** 2;

interface Spectrum {
  readonly real: Float64Array;
  readonly imaginary: Float64Array;
}

/** Where a tile begins in each of two folded tiles: one goes through the Fourier transform as the real part, the other beside it. */
export function fitTiles(one: Float64Array, other: Float64Array): readonly [Fit, Fit] {
  const both = transform({ real: one, imaginary: other });
  const sync = syncSpectrum();
  const real = new Float64Array(cells);
  const imaginary = new Float64Array(cells);
  for (let at = 0; at < cells; at += 1) {
    const opposite = oppositeOf(at);
    const a = both.real[at] ?? 0;
    const b = both.imaginary[at] ?? 0;
    const c = both.real[opposite] ?? 0;
    const d = both.imaginary[opposite] ?? 0;
    const x = sync.real[at] ?? 0;
    const y = sync.imaginary[at] ?? 0;
    const oneReal = (a + c) / 2;
    const oneImaginary = (b - d) / 2;
    const otherReal = (b + d) / 2;
    const otherImaginary = (c - a) / 2;
    const oneWeight = weightOf(oneReal, oneImaginary);
    const otherWeight = weightOf(otherReal, otherImaginary);
    // Turned round, since forward and back differ by that alone.
    real[at] =
      (oneReal * x + oneImaginary * y) / oneWeight - (otherImaginary * x - otherReal * y) / otherWeight;
    imaginary[at] =
      -(oneImaginary * x - oneReal * y) / oneWeight - (otherReal * x + otherImaginary * y) / otherWeight;
  }
  const fits = transform({ real, imaginary });
  return [highest(fits.real, 1), highest(fits.imaginary, -1)];
}

/** A folded tile in which what is strong in the picture itself counts less. */
export function whitened(folded: Float64Array): Float64Array {
  const { real, imaginary } = transform({ real: folded, imaginary: new Float64Array(cells) });
  for (let at = 0; at < cells; at += 1) {
    const [a, b] = [real[at] ?? 0, imaginary[at] ?? 0];
    const weight = weightOf(a, b);
    real[at] = a / weight;
    imaginary[at] = -b / weight;
  }
  return transform({ real, imaginary }).real;
}

function weightOf(real: number, imaginary: number): number {
  return Math.sqrt(Math.sqrt(real * real + imaginary * imaginary)) || 1;
}

function highest(fits: Float64Array, sign: 1 | -1): Fit {
  let [best, most, squares] = [0, 0, 0];
  for (let at = 0; at < cells; at += 1) {
    const fit = sign * (fits[at] ?? 0);
    squares += fit * fit;
    if (fit <= most) continue;
    best = at;
    most = fit;
  }
  return { at: best, clarity: squares === 0 ? 0 : most / Math.sqrt(squares / cells) };
}

let madeSync: Spectrum | null = null;

function syncSpectrum(): Spectrum {
  const { owner, sign } = chips();
  return (madeSync ??= transform({
    real: Float64Array.from({ length: cells }, (_, cell) => {
      const chip = chipOfPixel(cell);
      return owner[chip] === syncOwner ? (sign[chip] ?? 0) : 0;
    }),
    imaginary: new Float64Array(cells),
  }));
}

/** The cell of the same frequency with the other sign. */
function oppositeOf(cell: number): number {
  const x = cell % tilePx;
  const y = (cell - x) / tilePx;
  return ((tilePx - y) % tilePx) * tilePx + ((tilePx - x) % tilePx);
}

/** Fourier transform of a tile, with rows and columns exchanged: a second one exchanges them back. */
function transform({ real, imaginary }: Spectrum): Spectrum {
  const sorted = { real: sortedRows(real), imaginary: sortedRows(imaginary) };
  transformColumns(sorted);
  const turned = { real: exchanged(sorted.real), imaginary: exchanged(sorted.imaginary) };
  transformColumns(turned);
  return turned;
}

/** Of each row the number with its bits in the other order. */
const reversed = Uint8Array.from({ length: tilePx }, (_, row) => {
  let bits = 0;
  for (let bit = 1; bit < tilePx; bit *= 2) bits = bits * 2 + (row & bit ? 1 : 0);
  return bits;
});

function sortedRows(values: Float64Array): Float64Array {
  const sorted = new Float64Array(cells);
  for (const [row, from] of reversed.entries())
    sorted.set(values.subarray(from * tilePx, (from + 1) * tilePx), row * tilePx);
  return sorted;
}

/** Columns as rows, sorted. */
function exchanged(values: Float64Array): Float64Array {
  const turned = new Float64Array(cells);
  for (let y = 0; y < tilePx; y += 1)
    for (let x = 0; x < tilePx; x += 1) turned[(reversed[x] ?? 0) * tilePx + y] = values[y * tilePx + x] ?? 0;
  return turned;
}

/** All columns side by side, so that memory is read in its order. */
function transformColumns(sorted: Spectrum): void {
  for (let length = 2; length <= tilePx; length *= 2)
    for (let turn = 0; turn < length / 2; turn += 1) {
      const angle = (-2 * Math.PI * turn) / length;
      const by = { cos: Math.cos(angle), sin: Math.sin(angle), rows: length / 2 };
      for (let row = turn; row < tilePx; row += length) combineRows(sorted, row, by);
    }
}

interface Turn {
  readonly cos: number;
  readonly sin: number;
  /** From one row to the one that it is combined with. */
  readonly rows: number;
}

function combineRows({ real, imaginary }: Spectrum, row: number, { cos, sin, rows }: Turn): void {
  const start = row * tilePx;
  for (let even = start, odd = start + rows * tilePx; even < start + tilePx; even += 1, odd += 1) {
    const a = real[odd] ?? 0;
    const b = imaginary[odd] ?? 0;
    const c = real[even] ?? 0;
    const d = imaginary[even] ?? 0;
    const turnedReal = a * cos - b * sin;
    const turnedImaginary = a * sin + b * cos;
    real[odd] = c - turnedReal;
    imaginary[odd] = d - turnedImaginary;
    real[even] = c + turnedReal;
    imaginary[even] = d + turnedImaginary;
  }
}
