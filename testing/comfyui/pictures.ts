import { createHash } from "node:crypto";
import { crc32 } from "node:zlib";
import sharp from "sharp";
import type { KernelEnum, Sharp } from "sharp";

/** Raw pixels of one picture or mask: bytes, row-major, `channels` per pixel. */
export interface Frame {
  readonly widthPx: number;
  readonly heightPx: number;
  readonly channels: 1 | 3 | 4;
  readonly data: Uint8Array;
}

/** A frame of one colour; `pixel` has a byte per channel. */
export function solidFrame(widthPx: number, heightPx: number, pixel: readonly number[]): Frame {
  const channels = pixel.length === 1 ? 1 : pixel.length === 4 ? 4 : 3;
  const data = Buffer.alloc(widthPx * heightPx * channels, Uint8Array.from(pixel));
  return { widthPx, heightPx, channels, data };
}

/** A frame of the same size and channels whose bytes are computed from the old ones. */
export function mapBytes(frame: Frame, change: (value: number, at: number) => number): Frame {
  const data = new Uint8ClampedArray(frame.data.length);
  for (let at = 0; at < data.length; at += 1) data[at] = change(frame.data[at] ?? 0, at);
  return { ...frame, data: new Uint8Array(data.buffer) };
}

/** One channel as a frame of its own. */
export function channelOf(frame: Frame, channel: number): Frame {
  const data = new Uint8Array(frame.widthPx * frame.heightPx);
  for (let at = 0; at < data.length; at += 1) data[at] = frame.data[at * frame.channels + channel] ?? 0;
  return { widthPx: frame.widthPx, heightPx: frame.heightPx, channels: 1, data };
}

/** Drops alpha, or repeats the one channel three times. */
export function toRgb(frame: Frame): Frame {
  if (frame.channels === 3) return frame;
  const { widthPx, heightPx, channels } = frame;
  const data = new Uint8Array(widthPx * heightPx * 3);
  for (let at = 0; at < data.length; at += 1) {
    const pixel = Math.trunc(at / 3);
    data[at] = frame.data[pixel * channels + (channels === 1 ? 0 : at % 3)] ?? 0;
  }
  return { widthPx, heightPx, channels: 3, data };
}

/** A sharp pipeline over raw pixels. */
export function pipe(frame: Frame): Sharp {
  const { widthPx: width, heightPx: height, channels } = frame;
  return sharp(frame.data, { raw: { width, height, channels }, limitInputPixels: false });
}

/** Runs the pipeline back to raw pixels. */
export async function toFrame(pipeline: Sharp): Promise<Frame> {
  const { data, info } = await pipeline.raw().toBuffer({ resolveWithObject: true });
  const channels = info.channels === 1 || info.channels === 4 ? info.channels : 3;
  return { widthPx: info.width, heightPx: info.height, channels, data };
}

/** Decodes a file to 8-bit RGB or RGBA, turned upright; throws when it is no picture. */
export function decode(bytes: Uint8Array): Promise<Frame> {
  return toFrame(sharp(bytes, { limitInputPixels: false }).rotate().toColourspace("srgb"));
}

/** Encodes as PNG with the speed that the real server takes. */
export function encodePng(frame: Frame): Promise<Buffer> {
  return pipe(frame).png({ compressionLevel: 4 }).toBuffer();
}

const headerEnd = 8 + 25;

/** Adds tEXt chunks behind the header, as Pillow does with the prompt of a job. */
export function addPngText(png: Buffer, texts: Readonly<Record<string, string>>): Buffer {
  const chunks = Object.entries(texts).map(([key, text]) => textChunk(key, text));
  return Buffer.concat([png.subarray(0, headerEnd), ...chunks, png.subarray(headerEnd)]);
}

function textChunk(key: string, text: string): Buffer {
  const body = Buffer.concat([Buffer.from("tEXt"), Buffer.from(`${key}\0${toAscii(text)}`, "latin1")]);
  const chunk = Buffer.alloc(body.length + 8);
  chunk.writeUInt32BE(body.length - 4, 0);
  body.copy(chunk, 4);
  chunk.writeUInt32BE(crc32(body), body.length + 4);
  return chunk;
}

// Python's json.dumps writes everything beyond ASCII as \uXXXX.
function toAscii(text: string): string {
  return text.replaceAll(
    /[\u0080-\uffff]/g,
    (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

export interface Paste {
  readonly destination: Frame;
  readonly source: Frame;
  /** 255 takes the source; null takes it everywhere. Has the size of the source. */
  readonly mask: Frame | null;
  readonly leftPx: number;
  readonly topPx: number;
}

/** Puts the source over the destination; bytes where the mask is 0 stay as they are. */
export function composite({ destination, source, mask, leftPx, topPx }: Paste): Frame {
  const data = Uint8Array.from(destination.data);
  const { channels } = destination;
  const lastRow = Math.min(source.heightPx, destination.heightPx - topPx);
  const lastColumn = Math.min(source.widthPx, destination.widthPx - leftPx);
  for (let row = 0; row < lastRow; row += 1) {
    for (let column = 0; column < lastColumn; column += 1) {
      const from = row * source.widthPx + column;
      const weight = mask ? (mask.data[from] ?? 0) : 255;
      if (weight === 0) continue;
      const to = ((row + topPx) * destination.widthPx + column + leftPx) * channels;
      for (let channel = 0; channel < Math.min(channels, source.channels); channel += 1) {
        const old = data[to + channel] ?? 0;
        const fresh = source.data[from * source.channels + channel] ?? 0;
        data[to + channel] = Math.round((fresh * weight + old * (255 - weight)) / 255);
      }
    }
  }
  return { ...destination, data };
}

/** Mixes two pictures of one size: 0 is all the first, 1 all the second. */
export function mix(first: Frame, second: Frame, share: number): Frame {
  const data = new Uint8Array(first.data.length);
  for (let at = 0; at < data.length; at += 1) {
    data[at] = Math.round((first.data[at] ?? 0) * (1 - share) + (second.data[at] ?? 0) * share);
  }
  return { ...first, data };
}

const kernels: Readonly<Record<string, keyof KernelEnum>> = {
  "nearest-exact": "nearest",
  bilinear: "linear",
  area: "linear",
  bicubic: "cubic",
  bislerp: "cubic",
  lanczos: "lanczos3",
};

interface Size {
  readonly widthPx: number;
  readonly heightPx: number;
}

/** Resizes to exactly this size; "center" cuts to the new ratio first. */
export async function resize(
  frame: Frame,
  size: Size,
  how: { method?: string; crop?: string } = {},
): Promise<Frame> {
  if (frame.widthPx === size.widthPx && frame.heightPx === size.heightPx) return frame;
  const kernel = kernels[how.method ?? "bicubic"] ?? "cubic";
  const fit = how.crop === "center" ? "cover" : "fill";
  const pipeline = pipe(frame).resize(size.widthPx, size.heightPx, { kernel, fit });
  return toFrame(frame.channels === 1 ? pipeline.toColourspace("b-w") : pipeline);
}

/** The largest size up to a multiple, cut from the middle as VAE encoding does. */
export async function cropToMultiple(frame: Frame, multiplePx: number): Promise<Frame> {
  const width = Math.max(multiplePx, frame.widthPx - (frame.widthPx % multiplePx));
  const height = Math.max(multiplePx, frame.heightPx - (frame.heightPx % multiplePx));
  if (width >= frame.widthPx && height >= frame.heightPx) return frame;
  const left = Math.trunc((frame.widthPx % multiplePx) / 2);
  const top = Math.trunc((frame.heightPx % multiplePx) / 2);
  const pipeline = pipe(frame).extract({ left, top, width, height });
  return toFrame(frame.channels === 1 ? pipeline.toColourspace("b-w") : pipeline);
}

const gridPx = 6;

/** A soft many-coloured picture that depends on the text alone. */
export function seededPicture(text: string, size: Size): Promise<Frame> {
  return resize(noiseFrame(text, { widthPx: gridPx, heightPx: gridPx }), size);
}

/** A colour of its own for each pixel; all depend on the text alone. */
export function noiseFrame(text: string, { widthPx, heightPx }: Size): Frame {
  const bytesNeeded = widthPx * heightPx * 3;
  const data = createHash("shake256", { outputLength: bytesNeeded }).update(text).digest();
  return { widthPx, heightPx, channels: 3, data };
}
