import type { SideBlock } from "../../carried/index.ts";
import { AppError } from "../../platform/errors.ts";
import { assertFewParts, type Container, usual } from "./container.ts";

const gifBlock = { extension: 0x21, frame: 0x2c } as const;

/** Bytes of the colour table that these flags announce. */
const gifTableBytes = (flags = 0) => (flags & 0x80 ? 3 * 2 ** ((flags & 7) + 1) : 0);

/** The place behind the parts of a block, of which each begins with its length and the last one is empty. */
function afterGifParts(bytes: Buffer, at: number): number {
  let place = at;
  for (let length = bytes[place]; length; length = bytes[place]) place += length + 1;
  return place + 1;
}

const gifFrameBytes = 10;

/** The place of the next frame; null at the end. */
function nextGifFrame(bytes: Buffer, from: number): number | null {
  let at = from;
  while (bytes[at] === gifBlock.extension) at = afterGifParts(bytes, at + 2);
  return bytes[at] === gifBlock.frame && at + gifFrameBytes <= bytes.length ? at : null;
}

/** The place behind a frame: its colours, a byte, and its pixels. */
const afterGifFrame = (bytes: Buffer, at: number) =>
  afterGifParts(bytes, at + gifFrameBytes + gifTableBytes(bytes[at + 9]) + 1);

/** GIF: the size of its screen, which some programs leave at 0, or of a first frame that goes beyond it, as the decoder has it. */
export function readGif(bytes: Buffer): Container {
  let [widthPx, heightPx] = [bytes.readUInt16LE(6), bytes.readUInt16LE(8)];
  const at = nextGifFrame(bytes, 13 + gifTableBytes(bytes[10]));
  if (at !== null) {
    widthPx = Math.max(widthPx, bytes.readUInt16LE(at + 1) + bytes.readUInt16LE(at + 5));
    heightPx = Math.max(heightPx, bytes.readUInt16LE(at + 3) + bytes.readUInt16LE(at + 7));
  }
  return {
    ...usual,
    format: "gif",
    widthPx,
    heightPx,
    isAnimated: at !== null && nextGifFrame(bytes, afterGifFrame(bytes, at)) !== null,
    isLossless: true,
    parts: 1,
  };
}

const xmpOfGif = Buffer.from("\u000bXMP DataXMP", "latin1");
/** Behind a packet stand these bytes, so that readers who do not know it find its end. */
const xmpTrailer = Buffer.from([0x01, 0xff, 0xfe]);

/** The XMP packet before the first frame: it is not in parts as other blocks are. */
export function sideBlocksOfGif(bytes: Buffer): SideBlock[] {
  let at = 13 + gifTableBytes(bytes[10]);
  for (let parts = 0; bytes[at] === gifBlock.extension; parts += 1) {
    assertFewParts(parts);
    const start = at + 2 + xmpOfGif.length;
    if (bytes.subarray(at + 2, start).equals(xmpOfGif)) {
      const end = bytes.indexOf(xmpTrailer, start);
      return end < 0 ? [] : [{ kind: "xmp", data: bytes.subarray(start, end) }];
    }
    at = afterGifParts(bytes, at + 2);
  }
  return [];
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
  [
    /^image\/tiff; /,
    "This TIFF is of a kind that cannot be read here. Export it with 8 or 16 bits, with LZW, ZIP or no compression, or as JPEG or PNG, and upload that.",
  ],
  [/^image\/x-tga/, `This is a TGA picture, which cannot be read here. ${asJpeg}`],
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
