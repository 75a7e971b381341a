import { bitsOf, chips, chipsPerSide, syncOwner } from "./pattern.ts";

/** Pixels that are marked where they lie: rows from the top, 8 bits. */
interface Pixels {
  readonly data: Buffer;
  readonly widthPx: number;
  readonly heightPx: number;
  readonly channels: 1 | 2 | 3 | 4;
}

/** Smaller pictures have too few tiles to be read again. */
const leastMarked = { sidePx: 256, pixels: 120_000 };

const blockPx = 8;
/** By how much a pixel is changed at most, in steps of brightness. */
const mostSteps = 5;
/** Mean steps of a block: where nothing is, for each step between neighbours, and at most. What a mark withstands with them: `bench provenance`. */
const strength = { base: 1.5, perStep: 0.16, max: mostSteps };
/** Keeps the change of a whole picture above 41 dB. */
const maxRms = 2.15;

/** Writes a number of 32 bits into the brightness. False, with nothing changed, for a picture that is too small or has transparent parts. */
export function markPixels(pixels: Pixels, id: number): boolean {
  if (isSmall(pixels) || hasTransparent(pixels)) return false;
  const { data, widthPx, heightPx, channels } = pixels;
  const clamped = new Uint8ClampedArray(data.buffer, data.byteOffset, data.length);
  const tile = tileOf(id);
  const strengths = strengthsOf(pixels);
  const blocksPerRow = Math.ceil(widthPx / blockPx);
  const colours = channels < 3 ? 1 : 3;
  let noise = 1;
  for (let y = 0; y < heightPx; y += 1) {
    const tileRow = (y % markedTilePx) * markedTilePx;
    const blockRow = (y >> 3) * blocksPerRow;
    let start = y * widthPx * channels;
    for (let x = 0, column = 0; x < widthPx; x += 1, start += channels) {
      // Between two steps chance decides, so that weak marks are not rounded away.
      noise = (Math.imul(noise, 1_664_525) + 1_013_904_223) | 0;
      const wanted = (strengths[blockRow + (x >> 3)] ?? 0) * (tile[tileRow + column] ?? 0);
      const rounded = Math.floor(wanted + (noise >>> 0) / 2 ** 32);
      const change = Math.max(-mostSteps, Math.min(mostSteps, rounded));
      for (let at = start; at < start + colours; at += 1) clamped[at] = (clamped[at] ?? 0) + change;
      column = column + 1 === markedTilePx ? 0 : column + 1;
    }
  }
  return true;
}

function isSmall({ widthPx, heightPx }: Pixels): boolean {
  return Math.min(widthPx, heightPx) < leastMarked.sidePx || widthPx * heightPx < leastMarked.pixels;
}

function hasTransparent({ data, channels }: Pixels): boolean {
  if (channels === 1 || channels === 3) return false;
  for (let at = channels - 1; at < data.length; at += channels) if (data[at] !== 255) return true;
  return false;
}

/** A tile as it is added to pictures: chips of 3 px that run into one another, of which most is left at 0.4 of the size. */
const markedTilePx = 192;

/** A tile with a root mean square of 1. */
function tileOf(id: number): Float32Array {
  const bits = bitsOf(id);
  const { owner, sign } = chips();
  const values = new Float32Array(owner.length);
  for (const [chip, bit] of owner.entries())
    values[chip] = (sign[chip] ?? 0) * (bit === syncOwner ? 1 : (bits[bit] ?? 0));
  // Both passes exchange rows and columns.
  const tile = stretchRows(stretchRows(values));
  let squares = 0;
  for (const value of tile) squares += value * value;
  const scale = 1 / Math.sqrt(squares / tile.length);
  return tile.map((value) => value * scale);
}

/** Rows of as many chips as a tile has, from the middle of one to that of the next; each row becomes a column. */
function stretchRows(values: Float32Array): Float32Array {
  const rows = values.length / chipsPerSide;
  const stretched = new Float32Array(rows * markedTilePx);
  for (let pixel = 0; pixel < markedTilePx; pixel += 1) {
    const place = ((pixel + 0.5) * chipsPerSide) / markedTilePx - 0.5 + chipsPerSide;
    const chip = Math.floor(place) % chipsPerSide;
    const next = (chip + 1) % chipsPerSide;
    const part = place % 1;
    for (let row = 0; row < rows; row += 1) {
      const start = row * chipsPerSide;
      const value = (values[start + chip] ?? 0) * (1 - part) + (values[start + next] ?? 0) * part;
      stretched[pixel * rows + row] = value;
    }
  }
  return stretched;
}

/** How strong each block may be marked: more where much goes on, which hides it; less everywhere in a busy picture. */
function strengthsOf(pixels: Pixels): Float32Array {
  const { widthPx, heightPx } = pixels;
  const [across, down] = [Math.ceil(widthPx / blockPx), Math.ceil(heightPx / blockPx)];
  const strengths = new Float32Array(across * down);
  let squares = 0;
  for (let block = 0; block < strengths.length; block += 1) {
    const steps = stepsIn(pixels, (block % across) * blockPx, Math.floor(block / across) * blockPx);
    const found = Math.min(strength.max, strength.base + strength.perStep * steps);
    strengths[block] = found;
    squares += found * found;
  }
  const scale = Math.min(1, maxRms / Math.sqrt(squares / strengths.length));
  return strengths.map((found) => found * scale);
}

/** The mean step between neighbours in a block, of each second pixel. */
function stepsIn({ data, widthPx, heightPx, channels }: Pixels, left: number, top: number): number {
  // Green, which is most of the brightness, or grey.
  const colour = channels < 3 ? 0 : 1;
  let [sum, count] = [0, 0];
  for (let y = top; y < Math.min(heightPx, top + blockPx); y += 2)
    for (let x = left + 1; x < Math.min(widthPx, left + blockPx); x += 2) {
      const at = (y * widthPx + x) * channels + colour;
      sum += Math.abs((data[at] ?? 0) - (data[at - channels] ?? 0));
      count += 1;
    }
  return count === 0 ? 0 : sum / count;
}
