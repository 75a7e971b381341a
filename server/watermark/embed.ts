import { bitsOf, chipOfPixel, chips, syncOwner, tilePx } from "./pattern.ts";

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
/** Steps of brightness: where nothing is, for each step between neighbours, and at most. What a mark withstands with them: `bench provenance`. */
const strength = { base: 1.5, perStep: 0.16, max: 5 };
/** Keeps the change of a whole picture above 41 dB. */
const maxRms = 2.15;

/** Writes a number of 32 bits into the brightness. False, with nothing changed, for a picture that is too small or has transparent parts. */
export function markPixels(pixels: Pixels, id: number): boolean {
  const { data, widthPx, heightPx, channels } = pixels;
  if (isSmall(pixels) || hasTransparent(pixels)) return false;
  const clamped = new Uint8ClampedArray(data.buffer, data.byteOffset, data.length);
  const tile = tileOf(id);
  const strengths = strengthsOf(pixels);
  const blocksPerRow = Math.ceil(widthPx / blockPx);
  const colours = channels < 3 ? 1 : 3;
  let noise = 1;
  for (let y = 0; y < heightPx; y += 1) {
    const tileRow = (y % tilePx) * tilePx;
    const blockRow = Math.floor(y / blockPx) * blocksPerRow;
    for (let x = 0; x < widthPx; x += 1) {
      // Between two steps chance decides, so that weak marks are not rounded away.
      noise = (Math.imul(noise, 1_664_525) + 1_013_904_223) | 0;
      const wanted = (strengths[blockRow + (x >> 3)] ?? 0) * (tile[tileRow | (x & (tilePx - 1))] ?? 0);
      const change = Math.floor(wanted + (noise >>> 0) / 2 ** 32);
      const start = (y * widthPx + x) * channels;
      for (let at = start; at < start + colours; at += 1) clamped[at] = (clamped[at] ?? 0) + change;
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

function tileOf(id: number): Int8Array {
  const bits = bitsOf(id);
  const { owner, sign } = chips();
  return Int8Array.from({ length: tilePx ** 2 }, (_, pixel) => {
    const chip = chipOfPixel(pixel);
    const bit = owner[chip] ?? syncOwner;
    return (sign[chip] ?? 0) * (bit === syncOwner ? 1 : (bits[bit] ?? 0));
  });
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
