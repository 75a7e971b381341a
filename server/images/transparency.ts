import { writeFile } from "node:fs/promises";
import sharp from "sharp";
import { isAppError } from "../platform/errors.ts";
import { undecodedFile } from "../platform/undecoded.ts";

/** 8-bit samples, row-major; 2 channels are grey and alpha, 4 are RGB and alpha. */
interface Samples {
  readonly data: Uint8Array;
  readonly channels: number;
}

const white = 255;

/**
 * Makes every pixel whose alpha is 0 white, in place: what is not to be seen must not be in the file, and models that read
 * no alpha see a white ground. Returns whether anything was hidden.
 */
export function whitenHidden({ data, channels }: Samples): boolean {
  if (channels !== 2 && channels !== 4) return false;
  const colours = channels - 1;
  let wasHidden = false;
  for (let at = 0; at < data.length; at += channels) {
    if (data[at + colours] !== 0) continue;
    for (let channel = 0; channel < colours; channel += 1) {
      if (data[at + channel] === white) continue;
      data[at + channel] = white;
      wasHidden = true;
    }
  }
  return wasHidden;
}

/** Whether all of a picture is transparent. */
export function isInvisible({ data, channels }: Samples): boolean {
  if (channels !== 2 && channels !== 4) return false;
  for (let at = channels - 1; at < data.length; at += channels) if (data[at] !== 0) return false;
  return true;
}

const unreadable = "upload_unreadable";

/** `whitenHidden` for a file, which becomes a PNG when anything was hidden. A file that is no picture stays as it is. */
export async function whitenHiddenIn(file: string): Promise<void> {
  const picture = sharp(file, { limitInputPixels: false });
  const facts = await picture.metadata().catch(async (cause: unknown) => {
    const error = await undecodedFile(file, unreadable, cause);
    // It may be whole, with something hidden in it.
    if (!isAppError(error) || error.code !== unreadable) throw error;
    return null;
  });
  if (!facts?.hasAlpha) return;
  const { data, info } = await picture
    .toColourspace("srgb")
    .raw({ depth: "uchar" })
    .toBuffer({ resolveWithObject: true })
    .catch(async (cause: unknown) => {
      throw await undecodedFile(file, unreadable, cause);
    });
  if (!whitenHidden({ data, channels: info.channels })) return;
  const { width, height, channels } = info;
  const raw = { width, height, channels };
  await writeFile(file, await sharp(data, { raw, limitInputPixels: false }).png().toBuffer());
}

interface Rgba extends Samples {
  readonly width: number;
  readonly height: number;
}

/** From this alpha on a pixel counts as painted. */
const leastPainted = 128;
/** Greys within these of black and white are one tone: a mask in black and white, with soft edges aside. */
const tones = { black: 64, white: 191 } as const;
const strayShare = 0.02;

/**
 * The grey values of a mask with transparency, white = change; null when its colours say what is marked, as without any.
 *
 * - Black and white are both painted: grey counts, and transparent is black.
 * - Else alpha counts. Where the border is mostly transparent, the strokes are marked, in whatever colour; where it is mostly
 *   painted, such as a photo or a white sheet with a hole, the hole is marked.
 */
export function markByAlpha({ data, channels, width, height }: Rgba): Uint8Array | null {
  if (channels !== 4) return null;
  const found = countTones(data);
  if (found.clear === 0 || found.painted === 0) return null;
  const isGrey = found.coloured <= strayShare * found.painted;
  const isBoth = Math.min(found.black, found.white) > strayShare * found.painted;
  if (isGrey && isBoth) return null;
  const isHole = paintedBorder({ data, width, height }) > 0.5;
  const marks = new Uint8Array(width * height);
  for (let i = 0; i < marks.length; i += 1) {
    const alpha = data[i * 4 + 3] ?? 0;
    marks[i] = isHole ? 255 - alpha : alpha;
  }
  return marks;
}

function countTones(data: Uint8Array) {
  const count = { clear: 0, painted: 0, black: 0, white: 0, coloured: 0 };
  for (let at = 0; at < data.length; at += 4) {
    if ((data[at + 3] ?? 0) < leastPainted) {
      count.clear += 1;
      continue;
    }
    count.painted += 1;
    const [red = 0, green = 0, blue = 0] = data.subarray(at, at + 3);
    const [low, high] = [Math.min(red, green, blue), Math.max(red, green, blue)];
    if (high < tones.black) count.black += 1;
    else if (low > tones.white) count.white += 1;
    else count.coloured += 1;
  }
  return count;
}

/** Share of the pixels along the four sides that are painted. */
function paintedBorder({ data, width, height }: Omit<Rgba, "channels">): number {
  let [painted, all] = [0, 0];
  for (let y = 0; y < height; y += 1) {
    const isEdge = y === 0 || y === height - 1;
    for (let x = 0; x < width; x += isEdge ? 1 : Math.max(1, width - 1)) {
      all += 1;
      if ((data[(y * width + x) * 4 + 3] ?? 0) >= leastPainted) painted += 1;
    }
  }
  return painted / all;
}
