import type heif from "libheif-js/wasm-bundle.js";
import { AppError } from "../platform/errors.ts";
import { unreadable } from "./formats/container.ts";
import { bitsOfHeif, profileOfHeif } from "./formats/heif.ts";

/**
 * Decodes the shown picture of a HEIC file (tiles joined, upright; depth, gain maps, thumbnails and other pictures left
 * out) to an uncompressed TIFF with its colour profile. For the child process only: the decoder, WebAssembly, takes seconds
 * and hundreds of megabytes. Throws `upload_unreadable`.
 */
export async function tiffOfHeic(bytes: Buffer): Promise<Buffer> {
  const { default: library } = await import("libheif-js/wasm-bundle.js").catch((cause: unknown) => {
    throw new AppError("upload_unsupported", withoutDecoder, { cause });
  });
  const context = library.heif_context_alloc();
  const read = library.heif_context_read_from_memory(context, bytes);
  if (read.code !== library.heif_error_code.heif_error_Ok) throw unreadable("no picture that can be decoded");
  const handle = library.heif_js_context_get_primary_image_handle(context);
  if (!handle || "code" in handle) throw unreadable("no picture");
  const picture = decode(library, handle, bitsOfHeif(bytes) > codedBits);
  return tiffOf(picture, profileOfHeif(bytes));
}

const withoutDecoder =
  "This studio has no decoder for HEIC. Export the picture as JPEG; an iPhone takes JPEG after Settings, Camera, Formats, Most Compatible.";

const codedBits = 8;

function decode(library: typeof heif, handle: object, isDeep: boolean): Parameters<typeof tiffOf>[0] {
  const { heif_chroma: chroma, heif_colorspace: space } = library;
  const hasAlpha = library.heif_image_handle_has_alpha_channel(handle) !== 0;
  const plain = hasAlpha ? chroma.heif_chroma_interleaved_RGBA : chroma.heif_chroma_interleaved_RGB;
  const deep = hasAlpha
    ? chroma.heif_chroma_interleaved_RRGGBBAA_LE
    : chroma.heif_chroma_interleaved_RRGGBB_LE;
  const wanted = isDeep ? deep : plain;
  const decoded = library.heif_js_decode_image2(handle, space.heif_colorspace_RGB, wanted);
  const [pixels] = "channels" in decoded ? decoded.channels : [];
  if (!pixels) throw unreadable("truncated");
  return { ...pixels, channels: hasAlpha ? 4 : 3 };
}

/** Interleaved samples: RGB or RGBA of 8 bits, or of up to 16 bits in two bytes, low byte first. */
interface Interleaved {
  readonly data: Uint8Array;
  readonly width: number;
  readonly height: number;
  /** Bytes from one row to the next. */
  readonly stride: number;
  readonly bits_per_pixel: number;
  readonly channels: 3 | 4;
}

interface Entry {
  readonly tag: number;
  /** 3: short, 4: long, 7: bytes. */
  readonly type: 3 | 4 | 7;
  readonly count: number;
  /** The value, or the bytes that the entry points to. */
  readonly value: number | Buffer;
}

const sizes = { 3: 2, 4: 4, 7: 1 } as const;
const headBytes = 8;
const rowsPerStrip = 64;

/** An uncompressed TIFF with a colour profile: the form in which another decoder hands pixels to libvips. */
function tiffOf(picture: Interleaved, profile: Buffer | null): Buffer {
  const isDeep = picture.bits_per_pixel > 8;
  const { channels } = picture;
  const pixels = packRows(picture, { channels, isDeep });
  const entries = entriesOf(picture, { channels, isDeep, profile });
  const directory = directoryOf(entries, headBytes + pixels.length);
  const head = Buffer.alloc(headBytes);
  head.write("II*\0", "latin1");
  head.writeUInt32LE(headBytes + pixels.length, 4);
  return Buffer.concat([head, pixels, directory]);
}

interface Layout {
  readonly channels: 3 | 4;
  readonly isDeep: boolean;
}

function packRows(
  { data, width, height, stride, bits_per_pixel: bits }: Interleaved,
  { channels, isDeep }: Layout,
): Buffer {
  const rowBytes = width * channels * (isDeep ? 2 : 1);
  const rows = Buffer.alloc(rowBytes * height);
  for (let row = 0; row < height; row += 1)
    rows.set(data.subarray(row * stride, row * stride + rowBytes), row * rowBytes);
  if (!isDeep) return rows;
  const samples = new Uint16Array(rows.buffer, rows.byteOffset, rows.length / 2);
  const most = 2 ** bits - 1;
  for (let at = 0; at < samples.length; at += 1)
    samples[at] = Math.round(((samples[at] ?? 0) * 65_535) / most);
  return rows;
}

function entriesOf(
  { width, height }: Interleaved,
  { channels, isDeep, profile }: Layout & { readonly profile: Buffer | null },
): Entry[] {
  const strips = Math.ceil(height / rowsPerStrip);
  const stripBytes = width * channels * (isDeep ? 2 : 1) * rowsPerStrip;
  const total = width * channels * (isDeep ? 2 : 1) * height;
  const short = (tag: number, value: number): Entry => ({ tag, type: 3, count: 1, value });
  const long = (tag: number, value: number): Entry => ({ tag, type: 4, count: 1, value });
  const longs = (tag: number, values: number[]): Entry => {
    if (values.length === 1) return long(tag, values[0] ?? 0);
    return { tag, type: 4, count: values.length, value: Buffer.from(Uint32Array.from(values).buffer) };
  };
  const bits = Buffer.from(new Uint16Array(channels).fill(isDeep ? 16 : 8).buffer);
  const places = Array.from({ length: strips }, (_none, at) => at * stripBytes);
  return [
    long(256, width),
    long(257, height),
    { tag: 258, type: 3, count: channels, value: bits },
    short(259, 1),
    short(262, 2),
    longs(
      273,
      places.map((at) => headBytes + at),
    ),
    short(277, channels),
    long(278, rowsPerStrip),
    longs(
      279,
      places.map((at) => Math.min(stripBytes, total - at)),
    ),
    ...(channels === 4 ? [short(338, 2)] : []),
    ...(profile ? [{ tag: 34_675, type: 7, count: profile.length, value: profile } as const] : []),
  ];
}

function directoryOf(entries: readonly Entry[], startAt: number): Buffer {
  const table = Buffer.alloc(2 + 12 * entries.length + 4);
  table.writeUInt16LE(entries.length, 0);
  const behind: Buffer[] = [];
  let nextAt = startAt + table.length;
  entries.forEach(({ tag, type, count, value }, each) => {
    const at = 2 + 12 * each;
    table.writeUInt16LE(tag, at);
    table.writeUInt16LE(type, at + 2);
    table.writeUInt32LE(count, at + 4);
    if (typeof value === "number") table.writeUInt32LE(value, at + 8);
    else if (count * sizes[type] <= 4) value.copy(table, at + 8);
    else {
      table.writeUInt32LE(nextAt, at + 8);
      behind.push(value);
      nextAt += value.length;
    }
  });
  return Buffer.concat([table, ...behind]);
}
