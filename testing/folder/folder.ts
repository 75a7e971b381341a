import { mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import sharp from "sharp";
import { cornersPicture, pngChunk, withJpegSegment, withPngChunk } from "../pictures/index.ts";

/** What becomes of a file: a picture, a copy of one that is there, left out by the page, or refused with this code. */
export type Fate = "stored" | "same" | "left out" | `upload_${string}`;

interface OddFile {
  /** Below the folder, with `/`. */
  readonly name: string;
  readonly bytes: Buffer;
  readonly fate: Fate;
}

interface Kind {
  readonly fate: Fate;
  readonly name: (at: number) => string;
  /** `at` makes every file another picture. */
  readonly make: (at: number) => Promise<Buffer> | Buffer;
}

/** A picture of its own for each number, with noise as of a camera. */
function photo(at: number, widthPx = 640, heightPx = 480) {
  const data = Buffer.alloc(widthPx * heightPx * 3);
  let state = at * 2_654_435_761 + 1;
  for (let each = 0; each < data.length; each += 1) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    data[each] = (((each / 97) | 0) + at * 31 + ((state >>> 24) & 31)) & 255;
  }
  return sharp(data, { raw: { width: widthPx, height: heightPx, channels: 3 } });
}

const heicFolder = path.join(import.meta.dirname, "../pictures/heic");
/** A free box behind the picture makes each HEIC another file. */
async function heic(file: string, at: number): Promise<Buffer> {
  const box = Buffer.from("\0\0\0\x0cfree\0\0\0\0", "latin1");
  box.writeUInt32BE(at, 8);
  return Buffer.concat([await readFile(path.join(heicFolder, file)), box]);
}

const cicp = (...values: number[]) => pngChunk("cICP", Buffer.from(values));
const number = (at: number) => String(at).padStart(4, "0");
const flat = (width: number, height: number, red: number) =>
  sharp({ create: { width, height, channels: 3, background: { r: red & 255, g: red >> 8, b: 90 } } });

async function jpegWithMotion(at: number): Promise<Buffer> {
  const jpeg = await photo(at).jpeg().toBuffer();
  const xmp = `http://ns.adobe.com/xap/1.0/\0<x:xmpmeta xmlns:x="adobe:ns:meta/" GCamera:MotionPhoto="1"/>`;
  const film = Buffer.concat([
    Buffer.from("\0\0\0\x18ftypmp42\0\0\0\0isommp42", "latin1"),
    Buffer.alloc(4_096, at),
  ]);
  return Buffer.concat([withJpegSegment(jpeg, 0xe1, Buffer.from(xmp, "latin1")), film]);
}

async function animated(at: number, format: "gif" | "webp"): Promise<Buffer> {
  const frames = Buffer.concat([
    await flat(64, 64, at).raw().toBuffer(),
    await flat(64, 64, at + 99)
      .raw()
      .toBuffer(),
  ]);
  const film = sharp(frames, { raw: { width: 64, height: 128, channels: 3, pageHeight: 64 } });
  return format === "gif" ? film.gif({ loop: 0 }).toBuffer() : film.webp({ loop: 0 }).toBuffer();
}

const stored = (name: Kind["name"], make: Kind["make"]): Kind => ({ fate: "stored", name, make });

const pictures: readonly Kind[] = [
  ...[1, 2, 3, 4, 5, 6, 7, 8].map((orientation) =>
    stored(
      (at) => `DCIM/100APPLE/IMG_${number(at)}.JPG`,
      (at) =>
        cornersPicture(320 + (at % 400), 200)
          .jpeg()
          .withMetadata({ orientation })
          .toBuffer(),
    ),
  ),
  stored(
    (at) => `scans/cmyk ${at}.jpg`,
    (at) => photo(at).toColourspace("cmyk").jpeg().toBuffer(),
  ),
  stored(
    (at) => `scans/grey ${at}.jpeg`,
    (at) => photo(at).greyscale().jpeg().toBuffer(),
  ),
  stored(
    (at) => `scans/16 bit ${at}.png`,
    (at) => photo(at, 120, 90).toColourspace("rgb16").png().toBuffer(),
  ),
  stored(
    (at) => `screens/P3 ${at}.png`,
    async (at) => withPngChunk(await photo(at, 120, 90).png().toBuffer(), cicp(12, 13, 0, 1)),
  ),
  stored(
    (at) => `screens/PQ ${at}.png`,
    async (at) => withPngChunk(await photo(at, 120, 90).png().toBuffer(), cicp(9, 16, 0, 1)),
  ),
  stored(
    (at) => `web/progressive ${at}.jpg`,
    (at) => photo(at).jpeg({ progressive: true }).toBuffer(),
  ),
  stored(
    (at) => `web/cut.${at}.jpg`,
    async (at) => (await photo(at).jpeg().toBuffer()).subarray(0, -40),
  ),
  stored((at) => `DCIM/Camera/PXL_${at}.MP.jpg`, jpegWithMotion),
  stored(
    (at) => `DCIM/100APPLE/IMG_${number(at)}.HEIC`,
    (at) => heic("turned.heic", at),
  ),
  stored(
    (at) => `DCIM/100APPLE/IMG_E${number(at)}.heic`,
    (at) => heic("tiles.heic", at),
  ),
  stored(
    (at) => `WhatsApp/sticker-${at}.webp`,
    (at) => animated(at, "webp"),
  ),
  stored(
    (at) => `WhatsApp/${at}.gif`,
    (at) => animated(at, "gif"),
  ),
  stored(
    (at) => `scans/Seite ${at}.tiff`,
    (at) => photo(at, 200, 150).tiff({ compression: "lzw" }).toBuffer(),
  ),
  stored(
    (at) => `web/${at}.avif`,
    (at) => photo(at, 120, 90).avif({ effort: 0 }).toBuffer(),
  ),
  stored(
    (at) => `names/👩‍👩‍👧‍👦 🏖️ ${at}.jpg`,
    (at) => photo(at).jpeg().toBuffer(),
  ),
  stored(
    (at) => `names/${"Café München".normalize("NFD")} ${at}.jpg`,
    (at) => photo(at).jpeg().toBuffer(),
  ),
  stored(
    (at) => `names/${"very long name ".repeat(14)}${at}.jpg`,
    (at) => photo(at).jpeg().toBuffer(),
  ),
  stored(
    (at) => `names/v1.2.final..${at}.JPEG`,
    (at) => photo(at).jpeg().toBuffer(),
  ),
  stored(
    (at) => `names/صورة ‮${at}.jpg`,
    (at) => photo(at).jpeg().toBuffer(),
  ),
  stored(
    (at) => `names/no extension ${at}`,
    (at) => photo(at).jpeg().toBuffer(),
  ),
  stored(
    (at) => `names/really a PNG ${at}.jpg`,
    (at) => photo(at, 120, 90).png().toBuffer(),
  ),
  stored(
    (at) => `names/really a JPEG ${at}.heic`,
    (at) => photo(at).jpeg().toBuffer(),
  ),
  stored(
    (at) => `web/pixel ${at}.png`,
    (at) => flat(1, 1, at).png().toBuffer(),
  ),
];

const others: readonly Kind[] = [
  { fate: "same", name: (at) => `copies/IMG (${at}).jpg`, make: () => photo(0).jpeg().toBuffer() },
  { fate: "left out", name: (at) => `DCIM/${at}/.DS_Store`, make: () => Buffer.from("\0\0\0\x01Bud1") },
  { fate: "left out", name: (at) => `Windows/${at}/Thumbs.db`, make: () => Buffer.from("\xd0\xcf\x11\xe0") },
  {
    fate: "left out",
    name: (at) => `DCIM/100APPLE/IMG_${number(at)}.MOV`,
    make: (at) => Buffer.alloc(5_000, at),
  },
  {
    fate: "left out",
    name: (at) => `DCIM/100APPLE/IMG_${number(at)}.AAE`,
    make: () => Buffer.from("<plist/>"),
  },
  { fate: "left out", name: (at) => `names/._IMG_${at}.jpg`, make: () => Buffer.from("\0\x05\x16\x07") },
];

const refused: readonly Kind[] = [
  { fate: "upload_unsupported", name: (at) => `web/empty ${at}.jpg`, make: () => Buffer.alloc(0) },
  { fate: "upload_unsupported", name: (at) => `web/list ${at}.png`, make: (at) => Buffer.from(`list ${at}`) },
  {
    fate: "upload_bad_shape",
    name: (at) => `screens/chat ${at}.png`,
    make: (at) => flat(1, 20_000, at).png().toBuffer(),
  },
];

/** A file of 200 megapixels, which goes in scaled down alone. */
const large: Kind = {
  fate: "upload_too_many_pixels",
  name: (at) => `scans/poster ${at}.png`,
  make: (at) => flat(16_000, 12_500, at).png({ compressionLevel: 9 }).toBuffer(),
};

/** One of forty is refused, one of eight is no picture, and a single one is too large. */
function kindOf(at: number): Kind | undefined {
  if (at === 7) return large;
  if (at % 40 === 19) return refused[Math.floor(at / 40) % refused.length];
  if (at % 8 === 3) return others[Math.floor(at / 8) % others.length];
  return pictures[at % pictures.length];
}

/** A phone's folder of so many files with all their oddities, one after the other; always the same ones. */
async function* oddFiles(count: number): AsyncGenerator<OddFile> {
  for (let at = 0; at < count; at += 1) {
    const kind = kindOf(at);
    if (kind) yield { name: kind.name(at), bytes: await kind.make(at), fate: kind.fate };
  }
}

/** Writes them below a folder; returns how many there are of each fate. */
export async function writeOddFiles(folder: string, count: number): Promise<Map<Fate, number>> {
  const fates = new Map<Fate, number>();
  for await (const { name, bytes, fate } of oddFiles(count)) {
    const file = path.join(folder, name);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, bytes);
    fates.set(fate, (fates.get(fate) ?? 0) + 1);
  }
  return fates;
}
