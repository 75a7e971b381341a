/** Side of the square to which a picture is brought before two are compared, in pixels. */
export const comparedPx = 128;
const channels = 3;
/** Cells a side into which both pictures are divided. */
const cells = 24;
/** Parts of the side by which one picture may be cropped against the other. */
const crops = [0, 0.005, 0.01, 0.015, 0.02, 0.025, 0.03, 0.035, 0.04] as const;
const mostCropped = 0.06;

/** What a copy may be lighter or darker by, of 255, and a picture almost without contrast. */
const mostShift = 40;
const mostPlainShift = 3;

/** From where to where of a side, as parts of it. */
type Span = readonly [from: number, to: number];
const whole: Span = [0, 1];

interface Aligned {
  readonly one: Span;
  readonly other: Span;
}

/**
 * How much two pictures differ where they differ most, 0 to 255: over the parts of them that fit best on each other, beside what
 * one curve of tones explains. Both are RGB bytes, `comparedPx` × `comparedPx`.
 */
export function differenceOf(one: Uint8Array, other: Uint8Array): number {
  const across = align(profileOf(one, "x"), profileOf(other, "x"));
  const down = align(profileOf(one, "y"), profileOf(other, "y"));
  const [a, b] = [cellsOf(one, across.one, down.one), cellsOf(other, across.other, down.other)];
  if (!hasNearTones(a, b)) return mostTone;
  const [forth, back] = [unexplained(a, b), unexplained(b, a)];
  const differences = Float64Array.from({ length: cells * cells }, (_none, cell) => {
    let sum = 0;
    for (let at = cell * channels; at < (cell + 1) * channels; at += 1)
      sum += Math.max(forth[at] ?? 0, back[at] ?? 0);
    return sum / channels;
  });
  return largestOfFour(differences);
}

const mostTone = 255;

/** Whether a change of light explains how far the tones are apart: one curve would make any plain picture of any other. */
function hasNearTones(a: Float64Array, b: Float64Array): boolean {
  const mean = a.reduce((sum, value) => sum + value, 0) / a.length;
  const contrast = Math.sqrt(a.reduce((sum, value) => sum + (value - mean) ** 2, 0) / a.length);
  const shift = a.reduce((sum, value, at) => sum + Math.abs(value - (b[at] ?? 0)), 0) / a.length;
  return shift <= Math.min(mostShift, mostPlainShift + contrast);
}

/** The mean of two by two cells, where it is largest: a single cell at an edge differs by a shift of half a pixel. */
function largestOfFour(differences: Float64Array): number {
  let largest = 0;
  const at = (row: number, column: number) => differences[row * cells + column] ?? 0;
  for (let row = 0; row + 1 < cells; row += 1)
    for (let column = 0; column + 1 < cells; column += 1)
      largest = Math.max(
        largest,
        (at(row, column) + at(row, column + 1) + at(row + 1, column) + at(row + 1, column + 1)) / 4,
      );
  return largest;
}

/** The mean light of each column (`x`) or row (`y`). */
function profileOf(pixels: Uint8Array, axis: "x" | "y"): Float64Array {
  const light = new Float64Array(comparedPx);
  for (let at = 0; at < comparedPx * comparedPx; at += 1) {
    const place = axis === "x" ? at % comparedPx : Math.floor(at / comparedPx);
    const [red, green, blue] = [pixels[at * 3] ?? 0, pixels[at * 3 + 1] ?? 0, pixels[at * 3 + 2] ?? 0];
    light[place] = (light[place] ?? 0) + (0.299 * red + 0.587 * green + 0.114 * blue) / comparedPx;
  }
  return light;
}

/** A stretch of a side in equal steps: step by step the first pixel, and how much of it and of those behind it is in the step. */
interface Steps {
  readonly firstPx: Int32Array;
  readonly shares: readonly Float64Array[];
}

function stepsOf([from, to]: Span, count: number): Steps {
  const stepPx = (comparedPx * (to - from)) / count;
  const firstPx = new Int32Array(count);
  const shares = Array.from({ length: count }, (_none, step) => {
    const start = comparedPx * from + step * stepPx;
    const end = Math.min(start + stepPx, comparedPx);
    const first = Math.floor(start + 1e-9);
    firstPx[step] = first;
    return Float64Array.from(
      { length: Math.ceil(end - 1e-9) - first },
      (_no, place) => (Math.min(first + place + 1, end) - Math.max(first + place, start)) / stepPx,
    );
  });
  return { firstPx, shares };
}

const profileSteps = 64;
const wholeSteps = stepsOf(whole, profileSteps);
const croppedSpans = crops
  .flatMap((start) => crops.map((end) => [start, end] as const))
  .filter(([start, end]) => start + end > 0 && start + end <= mostCropped)
  .map(([start, end]): readonly [Span, Steps] => {
    const span: Span = [start, 1 - end];
    return [span, stepsOf(span, profileSteps)];
  });

/** Of one picture the part that shows what the other one shows. */
function align(one: Float64Array, other: Float64Array): Aligned {
  const [wholeOne, wholeOther] = [shapeOf(one, wholeSteps), shapeOf(other, wholeSteps)];
  let best: Aligned = { one: whole, other: whole };
  let least = distance(wholeOne, wholeOther);
  const consider = (aligned: Aligned, found: number) => {
    if (found >= least) return;
    least = found;
    best = aligned;
  };
  for (const [span, steps] of croppedSpans) {
    consider({ one: span, other: whole }, distance(shapeOf(one, steps), wholeOther));
    consider({ one: whole, other: span }, distance(wholeOne, shapeOf(other, steps)));
  }
  return best;
}

function distance(one: Float64Array, other: Float64Array): number {
  let sum = 0;
  for (let at = 0; at < one.length; at += 1) sum += ((one[at] ?? 0) - (other[at] ?? 0)) ** 2;
  return sum;
}

/** A stretch of a profile, without how light and how rich in contrast it is. */
function shapeOf(profile: Float64Array, { firstPx, shares }: Steps): Float64Array {
  const shape = new Float64Array(profileSteps);
  let [mean, square] = [0, 0];
  for (let step = 0; step < profileSteps; step += 1) {
    const value = meanOf(profile, firstPx[step] ?? 0, shares[step]);
    shape[step] = value;
    mean += value / profileSteps;
    square += value ** 2 / profileSteps;
  }
  const deviation = Math.sqrt(Math.max(square - mean ** 2, 0)) || 1;
  for (let step = 0; step < profileSteps; step += 1) shape[step] = ((shape[step] ?? 0) - mean) / deviation;
  return shape;
}

function meanOf(values: Float64Array, first: number, shares: Float64Array | undefined): number {
  let sum = 0;
  for (let place = 0; shares && place < shares.length; place += 1)
    sum += (shares[place] ?? 0) * (values[first + place] ?? 0);
  return sum;
}

/** The mean colour of each cell of a part of a picture. */
function cellsOf(pixels: Uint8Array, across: Span, down: Span): Float64Array {
  const [columns, rows] = [stepsOf(across, cells), stepsOf(down, cells)];
  // First along the rows, so that each pixel is read once.
  const narrow = Array.from({ length: channels }, () => new Float64Array(cells * comparedPx));
  const line = new Float64Array(comparedPx);
  for (const [channel, made] of narrow.entries())
    for (let y = 0; y < comparedPx; y += 1) {
      for (let x = 0; x < comparedPx; x += 1)
        line[x] = pixels[(y * comparedPx + x) * channels + channel] ?? 0;
      for (let column = 0; column < cells; column += 1)
        made[column * comparedPx + y] = meanOf(line, columns.firstPx[column] ?? 0, columns.shares[column]);
    }
  return Float64Array.from({ length: cells * cells * channels }, (_none, at) => {
    const [cell, channel] = [Math.floor(at / channels), at % channels];
    const [row, column] = [Math.floor(cell / cells), cell % cells];
    const first = column * comparedPx + (rows.firstPx[row] ?? 0);
    return meanOf(narrow[channel] ?? line, first, rows.shares[row]);
  });
}

/**
 * What of `shown` the best rising curve over `source` leaves over: a brighter or softer copy leaves nothing, a part that was
 * painted over does. One curve for all channels, so that another colour is a difference.
 */
function unexplained(source: Float64Array, shown: Float64Array): Float64Array {
  const order = [...source.keys()].toSorted((a, b) => (source[a] ?? 0) - (source[b] ?? 0));
  // Pools neighbours until the means rise (isotonic regression).
  const pools: { sum: number; count: number }[] = [];
  for (const at of order) {
    let pool = { sum: shown[at] ?? 0, count: 1 };
    for (
      let last = pools.at(-1);
      last && last.sum / last.count >= pool.sum / pool.count;
      last = pools.at(-1)
    ) {
      pools.pop();
      pool = { sum: pool.sum + last.sum, count: pool.count + last.count };
    }
    pools.push(pool);
  }
  const left = new Float64Array(source.length);
  let next = 0;
  for (const { sum, count } of pools)
    for (const at of order.slice(next, (next += count))) left[at] = Math.abs((shown[at] ?? 0) - sum / count);
  return left;
}
