import { AppError } from "../../platform/errors.ts";
import { assertFewParts, type Container, unreadable, usual } from "./container.ts";

const gifBlock = { extension: 0x21, frame: 0x2c } as const;

/** Bytes of the colour table that these flags announce. */
const gifTableBytes = (flags = 0) => (flags & 0x80 ? 3 * 2 ** ((flags & 7) + 1) : 0);

/** The place behind the parts of a block, of which each begins with its length and the last one is empty. */
function afterGifParts(bytes: Buffer, at: number): number {
  let place = at;
  for (let length = bytes[place]; length; length = bytes[place]) place += length + 1;
  return place + 1;
}

/** GIF: the size of its screen, which some programs leave at 0, or of a first frame that goes beyond it, as the decoder has it. */
export function readGif(bytes: Buffer): Container {
  let [widthPx, heightPx] = [bytes.readUInt16LE(6), bytes.readUInt16LE(8)];
  let at = 13 + gifTableBytes(bytes[10]);
  while (at + 10 <= bytes.length) {
    if (bytes[at] !== gifBlock.extension) break;
    at = afterGifParts(bytes, at + 2);
  }
  if (bytes[at] === gifBlock.frame && at + 10 <= bytes.length) {
    widthPx = Math.max(widthPx, bytes.readUInt16LE(at + 1) + bytes.readUInt16LE(at + 5));
    heightPx = Math.max(heightPx, bytes.readUInt16LE(at + 3) + bytes.readUInt16LE(at + 7));
  }
  return {
    ...usual,
    format: "gif",
    widthPx,
    heightPx,
    isAnimated: bytes.subarray(0, 4_096).includes("NETSCAPE2.0"),
    isLossless: true,
    parts: 1,
  };
}

const tag = {
  kind: 254,
  oldKind: 255,
  width: 256,
  height: 257,
  photometric: 262,
  inner: 330,
  dngVersion: 50_706,
} as const;
const colourFilterArray = 32_803;
/** Of `kind`: the bits of a smaller copy of another picture, and of a mask. */
const sideKinds = 1 | 4;
const oldSmaller = 2;

/** The form of TIFF for files above 4 GB, which some programs write always. */
const bigTiff = 43;
const longTypes: ReadonlySet<number> = new Set([16, 17, 18]);
/** More pictures are not looked through for the one that is shown. */
const maxDirectories = 64;

/** Reads the directories of a TIFF, of which each describes a picture. */
function tiffReader(bytes: Buffer) {
  const isLittle = bytes[0] === 0x49;
  const short = (at: number) => (isLittle ? bytes.readUInt16LE(at) : bytes.readUInt16BE(at));
  const long = (at: number) => (isLittle ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at));
  const huge = (at: number) => Number(isLittle ? bytes.readBigUInt64LE(at) : bytes.readBigUInt64BE(at));
  const isBig = short(2) === bigTiff;
  const [headBytes, entryBytes, valueAt, offsetBytes] = isBig ? [8, 20, 12, 8] : [2, 12, 8, 4];
  const offset = isBig ? huge : long;
  const readAs = new Map([[3, short], ...[...longTypes].map((type) => [type, huge] as const)]);
  const firstAt = isBig ? 8 : 4;
  const innerOf = (at: number, isLong: boolean) => {
    const [count, bytesEach, read] = [
      offset(at + 4),
      ...(isLong ? ([8, huge] as const) : ([4, long] as const)),
    ];
    const from = count * bytesEach > offsetBytes ? offset(at + valueAt) : at + valueAt;
    return Array.from({ length: Math.min(count, maxDirectories) }, (_none, each) =>
      read(from + each * bytesEach),
    );
  };
  return {
    first: offset(firstAt),
    /** A copy whose first directory is the one that begins there. */
    beginningWith(start: number): Buffer {
      const copy = Buffer.from(bytes);
      if (isBig) copy[isLittle ? "writeBigUInt64LE" : "writeBigUInt64BE"](BigInt(start), firstAt);
      else copy[isLittle ? "writeUInt32LE" : "writeUInt32BE"](start, firstAt);
      return copy;
    },
    /** Its values by their tags, and where the pictures within it and the next one begin. */
    directory(start: number) {
      const entries = isBig ? huge(start) : short(start);
      assertFewParts(entries);
      const values = new Map<number, number>();
      let inner = (): number[] => [];
      for (let each = 0; each < entries; each += 1) {
        const at = start + headBytes + entryBytes * each;
        const [name, type] = [short(at), short(at + 2)];
        values.set(name, (readAs.get(type) ?? long)(at + valueAt));
        if (name === tag.inner) inner = () => innerOf(at, longTypes.has(type));
      }
      return { start, entries, values, inner, next: offset(start + headBytes + entryBytes * entries) };
    },
  };
}

type TiffReader = ReturnType<typeof tiffReader>;
type TiffDirectory = ReturnType<TiffReader["directory"]>;

const isSide = ({ values }: TiffDirectory) =>
  ((values.get(tag.kind) ?? 0) & sideKinds) !== 0 || values.get(tag.oldKind) === oldSmaller;

/** The directory of the picture: the first one, or, where that is a smaller copy, the first that is not, beside or within it. */
function mainDirectory({ directory }: Pick<TiffReader, "directory">, first: TiffDirectory): TiffDirectory {
  const seen = new Set([first.start]);
  const open = isSide(first) ? [first] : [];
  let entries = first.entries;
  for (let one = open.shift(); one && seen.size < maxDirectories; one = open.shift()) {
    for (const start of [...one.inner(), one.next]) {
      if (start === 0 || seen.has(start) || seen.size >= maxDirectories) continue;
      seen.add(start);
      const found = directory(start);
      entries += found.entries;
      assertFewParts(entries);
      if (!isSide(found)) return found;
      open.push(found);
    }
  }
  return first;
}

/** TIFF: the directory whose picture is taken. Throws `upload_unsupported` for a camera's raw file in a TIFF. */
export function readTiff(bytes: Buffer): Container {
  const reader = tiffReader(bytes);
  const first = reader.directory(reader.first);
  const { values, entries, next } = mainDirectory(reader, first);
  if (first.values.has(tag.dngVersion) || values.get(tag.photometric) === colourFilterArray) throw rawFile();
  const [widthPx, heightPx] = [values.get(tag.width), values.get(tag.height)];
  if (widthPx === undefined || heightPx === undefined) throw unreadable("no size");
  return {
    ...usual,
    format: "tiff",
    widthPx,
    heightPx,
    isAnimated: next !== 0,
    isLossless: true,
    parts: entries,
  };
}

/** The file as a decoder has it that knows the first directory alone; the same bytes where that is the picture's. */
export function withMainPicture(bytes: Buffer): Buffer {
  const reader = tiffReader(bytes);
  const { start } = mainDirectory(reader, reader.directory(reader.first));
  return start === reader.first ? bytes : reader.beginningWith(start);
}

function rawFile(): AppError {
  return unsupportedAs("image/x-raw");
}

const raw =
  "This is the raw file of a camera. Open it in the camera's or a photo program, export it as JPEG, and upload that.";
const asJpeg = "Open it in a picture program, export it as JPEG or PNG, and upload that.";

const sentences: readonly (readonly [pattern: RegExp, sentence: string])[] = [
  [/^image\/(?:x-)?(?:raw|adobe-dng|canon|sony|nikon|panasonic|olympus|fujifilm)/, raw],
  [/^image\/jxl/, `This is a JPEG XL picture, which cannot be read here. ${asJpeg}`],
  [
    /^image\/(?:jp2|jpx|jpm|jxr|jls)/,
    `This is a JPEG 2000 or JPEG XR picture, which cannot be read here. ${asJpeg}`,
  ],
  [/^image\/bmp/, `This is a BMP picture, which cannot be read here. ${asJpeg}`],
  [/^image\/(?:x-)?icon/, `This is an icon, which cannot be read here. ${asJpeg}`],
  [/^image\/vnd\.adobe\.photoshop/, `This is a Photoshop file. ${asJpeg}`],
  [/^image\/svg/, `This is an SVG drawing, which has no pixels. ${asJpeg}`],
  [/^(?:application|image)\/(?:xml|svg)/, `This is a drawing or a page, not a photo. ${asJpeg}`],
  [/^video\//, "This is a video. Take a single picture from it, and upload that."],
  [/^audio\//, "This is a sound file, not a picture."],
  [/^application\/pdf/, "This is a PDF. Export its page as PNG or JPEG, and upload that."],
  [/^application\/(?:zip|x-)/, "This is an archive or a program. Unpack it and upload the pictures in it."],
  [/^empty$/, "The file is empty: it was not copied or downloaded to its end. Copy it again."],
  [
    /^appledouble$/,
    "This is a side file of macOS without a picture. The picture has the same name without “._”.",
  ],
  [
    /^placeholder$/,
    "This is not the picture but a placeholder for it in a cloud. Download the original first.",
  ],
];

/** The refusal of a file that is no picture of a format that is taken; the sentence says what it is and what to do. */
export function unsupportedAs(found: string): AppError {
  const known = sentences.find(([pattern]) => pattern.test(found));
  return new AppError("upload_unsupported", known?.[1], { details: { found } });
}
