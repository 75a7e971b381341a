import { setImmediate as nextTurn } from "node:timers/promises";
import sharp from "sharp";
import { AppError } from "../platform/index.ts";
import { makeFiles, planUpload, withFilePermit } from "./files.ts";
import { toDecodable } from "./inspect.ts";

export interface MaskChange {
  readonly ownerId: string;
  /** The file of a mask: white = change; an area counts from grey value 128 on. */
  readonly bytes: Buffer;
  readonly operate: "expand" | "shrink" | "reverse";
  readonly reachPx: number;
}

/** A mask as one byte for each pixel, 255 = marked, else 0. Large ones are changed by sharp, in threads of its own. */
interface Marks {
  readonly data: Uint8Array;
  readonly widthPx: number;
  readonly heightPx: number;
}

/**
 * Expands a mask by a disc, shrinks or reverses it; returns a PNG in which marked pixels are yellow and half transparent,
 * as editors lay it over the picture. Throws the codes `upload_*`.
 */
export async function adjustMask({
  ownerId,
  bytes,
  operate,
  reachPx,
}: MaskChange): Promise<Buffer<ArrayBuffer>> {
  return withFilePermit({ ownerId, weight: "heavy" }, async () => {
    const { original } = await makeFiles(bytes, await planUpload(bytes, { role: "mask" }));
    const marks = await readMarks(original, 0);
    return highlight(await change(marks, operate, reachPx));
  });
}

async function change(marks: Marks, operate: MaskChange["operate"], reachPx: number): Promise<Marks> {
  switch (operate) {
    case "expand":
      return dilate(marks, reachPx);
    case "shrink":
      return reverse(await dilate(await reverse(marks), reachPx));
    case "reverse":
      return reverse(marks);
  }
}

async function readMarks(png: Buffer, channel: 0 | 3): Promise<Marks> {
  const picture = channel === 3 ? sharp(png).ensureAlpha() : sharp(png);
  const { data, info } = await picture
    .extractChannel(channel)
    .threshold(128)
    .raw()
    .toBuffer({ resolveWithObject: true });
  return { data, widthPx: info.width, heightPx: info.height };
}

async function reverse(marks: Marks): Promise<Marks> {
  return { ...marks, data: await openMarks(marks).negate().raw().toBuffer() };
}

function openMarks({ data, ...size }: Marks) {
  return sharp(data, { raw: rawOf(size) }).toColourspace("b-w");
}

function rawOf({ widthPx, heightPx }: Omit<Marks, "data">) {
  return { width: widthPx, height: heightPx, channels: 1 } as const;
}

/** Steps of one change; a noise of single pixels would otherwise hold the process up. */
const maxSteps = 10_000_000;
/** Rows between which other requests have their turn. */
const rowsAtOnce = 128;

/**
 * Marks each pixel within reach of a marked one. Each run of marked pixels in a row widens to one run in every row within
 * reach; the ends of these runs are counted, and summed up along each row at the end.
 */
async function dilate({ data, widthPx, heightPx }: Marks, reachPx: number): Promise<Marks> {
  const disc = Array.from({ length: 2 * reachPx + 1 }, (_, i) => ({
    down: i - reachPx,
    half: Math.round(Math.sqrt(reachPx ** 2 - (i - reachPx) ** 2)),
  }));
  const ends = new Int16Array((widthPx + 1) * heightPx);
  let steps = 0;
  for (let y = 0; y < heightPx; y += 1) {
    if (y % rowsAtOnce === 0) await nextTurn();
    const inRow = disc.filter(({ down }) => y + down >= 0 && y + down < heightPx);
    for (const [left, right] of runsOf(data.subarray(y * widthPx, (y + 1) * widthPx))) {
      steps += inRow.length;
      if (steps > maxSteps) throw new AppError("upload_too_complex");
      for (const { down, half } of inRow) {
        const row = (y + down) * (widthPx + 1);
        bump(ends, row + Math.max(0, left - half), 1);
        bump(ends, row + Math.min(widthPx, right + half), -1);
      }
    }
  }
  return { data: await sumUp(ends, widthPx, heightPx), widthPx, heightPx };
}

function bump(counts: Int16Array, at: number, by: number): void {
  counts[at] = (counts[at] ?? 0) + by;
}

/** The marked pixels of a row, each run with its first pixel and the one after its last. */
function* runsOf(row: Uint8Array): Generator<[left: number, right: number]> {
  for (let left = row.indexOf(255); left >= 0;) {
    const end = row.indexOf(0, left);
    const right = end < 0 ? row.length : end;
    yield [left, right];
    left = row.indexOf(255, right);
  }
}

async function sumUp(ends: Int16Array, widthPx: number, heightPx: number): Promise<Uint8Array> {
  const data = new Uint8Array(widthPx * heightPx);
  for (let y = 0; y < heightPx; y += 1) {
    if (y % rowsAtOnce === 0) await nextTurn();
    let open = 0;
    for (let x = 0; x < widthPx; x += 1) {
      open += ends[y * (widthPx + 1) + x] ?? 0;
      data[y * widthPx + x] = open > 0 ? 255 : 0;
    }
  }
  return data;
}

/** Red of the marks is 255, blue 0. */
const highlightLevels = { green: 203, alpha: Math.trunc(255 * 0.73) } as const;

/** Widens a mask that was cut out of a picture, as IOPaint does, so that no edge of the subject is left. */
const cutOutReachPx = 4;

/** What is opaque in a cut-out, as a mask like that of `adjustMask`. */
export async function maskOfCutOut(ownerId: string, png: Buffer): Promise<Buffer<ArrayBuffer>> {
  return withFilePermit({ ownerId, weight: "heavy" }, async () =>
    highlight(await dilate(await readMarks(png, 3), cutOutReachPx)),
  );
}

/** The mask with what was marked left alone, and the reverse. Throws the codes `upload_*`. */
export async function reverseMask(ownerId: string, bytes: Buffer): Promise<Buffer<ArrayBuffer>> {
  return withFilePermit({ ownerId, weight: "heavy" }, async () => {
    const { original } = await makeFiles(bytes, await planUpload(bytes, { role: "mask" }));
    return openMarks(await reverse(await readMarks(original, 0)))
      .png()
      .toBuffer();
  });
}

/** What is transparent in a PNG as a mask (white = change); null where it has no transparency at all. Throws the codes `upload_*`. */
export async function maskOfHoles(ownerId: string, bytes: Buffer): Promise<Buffer<ArrayBuffer> | null> {
  return withFilePermit({ ownerId, weight: "heavy" }, async () => {
    await planUpload(bytes, { role: "mask" });
    const picture = await toDecodable(bytes);
    const { hasAlpha } = await sharp(picture).metadata();
    if (!hasAlpha) return null;
    return openMarks(await reverse(await readMarks(picture, 3)))
      .png()
      .toBuffer();
  });
}

/** The mask of a selection, as a mask like that of `adjustMask`. */
export async function highlightMask(ownerId: string, png: Buffer): Promise<Buffer<ArrayBuffer>> {
  return withFilePermit({ ownerId, weight: "heavy" }, async () => highlight(await readMarks(png, 0)));
}

async function highlight(marks: Marks): Promise<Buffer<ArrayBuffer>> {
  const scaleTo = (level: number) =>
    openMarks(marks)
      .linear(level / 255, 0)
      .raw()
      .toBuffer();
  const { green, alpha } = highlightLevels;
  const channels = [await scaleTo(green), Buffer.alloc(marks.data.length), await scaleTo(alpha)];
  return sharp(marks.data, { raw: rawOf(marks) })
    .joinChannel(channels, { raw: rawOf(marks) })
    .toColourspace("srgb")
    .png()
    .toBuffer();
}
