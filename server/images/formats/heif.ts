import type { SideBlock } from "../../carried/index.ts";
import { type ColourTag, tagOfCodes } from "../colour.ts";
import { assertFewParts, type Container, unreadable, usual } from "./container.ts";

interface Box {
  readonly type: string;
  readonly data: Buffer;
}

const avifBrands = ["avif", "avis"];
const sequenceBrands = ["avis", "hevc", "hevx", "msf1"];

/** Reads the outer boxes of an AVIF or HEIC file, its brands and every declared picture size. The longest sides count. */
export function readHeif(bytes: Buffer): Container {
  const boxes = boxesOf(bytes, outerEnd);
  const fileType = boxes[0];
  const meta = boxes.find(({ type }) => type === "meta")?.data.subarray(4);
  if (fileType?.type !== "ftyp" || !meta) throw unreadable("no picture");
  const brands = brandsOf(fileType.data);
  const isAvif = brands.some((brand) => avifBrands.includes(brand));
  return {
    ...usual,
    format: isAvif ? "avif" : "heic",
    ...largestSize(meta),
    isAnimated: sequenceBrands.includes(brands[0] ?? ""),
    parts: boxes.length,
    colour: primaryColour(meta).tag,
  };
}

/** The brands of still pictures and of their sequences. */
const pictureBrands: ReadonlySet<string> = new Set(
  "mif1 mif2 msf1 miaf heic heix heim heis hevc hevx hevm hevs avif avis".split(" "),
);

const filmBrand = /^(?:iso.|mp4.|qt  |M4V.|avc1|dash)$/;

/**
 * Whether the start of a file is that of a HEIF picture: any of its brands may say so, not only the first. After the brand of
 * a film, `hevc` and the like name the film's codec and count for nothing.
 */
export function isHeif(start: Buffer): boolean {
  if (start.toString("latin1", 4, 8) !== "ftyp") return false;
  const end = Math.min(start.length, start.readUInt32BE(0));
  const brands = brandsOf(start.subarray(8, end));
  const isFilm = filmBrand.test(brands[0] ?? "");
  return brands.some((brand) => pictureBrands.has(brand) && !(isFilm && brand.startsWith("hev")));
}

const firstBrandAt = 8;

/** The first brands by which the decoder of AVIF tells a picture apart; it has none for a sequence. */
const decodedBrands: ReadonlySet<string> = new Set(["avif", "mif1", "msf1"]);

/** The same AVIF with its own brand as the first one, by which decoders tell it apart. */
export function withAvifBrand(bytes: Buffer): Buffer {
  const first = bytes.toString("latin1", firstBrandAt, firstBrandAt + 4);
  if (decodedBrands.has(first)) return bytes;
  const branded = Buffer.from(bytes);
  branded.write("avif", firstBrandAt, "latin1");
  return branded;
}

/** The embedded colour profile of the shown picture; null without one. */
export function profileOfHeif(bytes: Buffer): Buffer | null {
  const meta = boxesOf(bytes, outerEnd)
    .find(({ type }) => type === "meta")
    ?.data.subarray(4);
  return meta ? primaryColour(meta).profile : null;
}

/** The largest bit depth of its pictures, from their decoder settings; 8 where nothing says more. */
export function bitsOfHeif(bytes: Buffer): number {
  let bits = 8;
  for (
    let at = bytes.indexOf("hvcC");
    at >= 0 && at + hvcDepthAt < bytes.length;
    at = bytes.indexOf("hvcC", at + 4)
  )
    bits = Math.max(bits, 8 + ((bytes[at + hvcDepthAt] ?? 0) & 0x07));
  return bits;
}

/** From the name of the box `hvcC` to its byte with the depth of brightness. */
const hvcDepthAt = 4 + 17;

/** What to do at a box that ends behind its container. */
type AtCut = (before: readonly Box[]) => void;

/** Pixel data that was read may be followed by anything. */
const outerEnd: AtCut = (before) => {
  if (!before.some(({ type }) => type === "mdat")) throw unreadable("truncated");
};
const innerEnd: AtCut = () => undefined;

function boxesOf(bytes: Buffer, atCut: AtCut): Box[] {
  const boxes: Box[] = [];
  let offset = 0;
  while (offset + 8 <= bytes.length) {
    const { headBytes, end } = extentOf(bytes, offset);
    if (end > bytes.length || end < offset + headBytes) {
      atCut(boxes);
      return boxes;
    }
    const type = bytes.toString("latin1", offset + 4, offset + 8);
    boxes.push({ type, data: bytes.subarray(offset + headBytes, end) });
    assertFewParts(boxes.length);
    offset = end;
  }
  return boxes;
}

/** A size of 0 means "to the end of the file", 1 that a size of 64 bits follows. */
function extentOf(bytes: Buffer, offset: number): { headBytes: number; end: number } {
  const size = bytes.readUInt32BE(offset);
  if (size === 0) return { headBytes: 8, end: bytes.length };
  if (size !== 1 || offset + 16 > bytes.length) return { headBytes: 8, end: offset + size };
  return { headBytes: 16, end: offset + Number(bytes.readBigUInt64BE(offset + 8)) };
}

function brandsOf(data: Buffer): string[] {
  assertFewParts(data.length / 4);
  const brands = [data.toString("latin1", 0, 4)];
  for (let at = 8; at + 4 <= data.length; at += 4) brands.push(data.toString("latin1", at, at + 4));
  return brands;
}

/** `ispe` boxes: version and flags (4 bytes), width, height. */
function largestSize(meta: Buffer): { widthPx: number; heightPx: number } {
  const largest = { widthPx: 0, heightPx: 0 };
  for (let at = meta.indexOf("ispe"); at >= 0 && at + 16 <= meta.length; at = meta.indexOf("ispe", at + 4)) {
    largest.widthPx = Math.max(largest.widthPx, meta.readUInt32BE(at + 8));
    largest.heightPx = Math.max(largest.heightPx, meta.readUInt32BE(at + 12));
  }
  if (largest.widthPx === 0) throw unreadable("no size");
  return largest;
}

interface PictureColour {
  readonly tag: ColourTag | null;
  readonly profile: Buffer | null;
}

/** The `colr` properties of the primary picture: a profile counts before codes. Never throws: damaged ones are dropped. */
function primaryColour(meta: Buffer): PictureColour {
  try {
    const found = colourProperties(meta);
    const profile = found.find((data) => ["prof", "rICC"].includes(data.toString("latin1", 0, 4)));
    if (profile) return { tag: null, profile: profile.subarray(4) };
    const codes = found.find((data) => data.toString("latin1", 0, 4) === "nclx");
    const tag = codes ? tagOfCodes(codes.readUInt16BE(4), codes.readUInt16BE(6)) : null;
    return { tag, profile: null };
  } catch {
    return { tag: null, profile: null };
  }
}

function colourProperties(meta: Buffer): Buffer[] {
  const boxes = boxesOf(meta, innerEnd);
  const primary = boxes.find(({ type }) => type === "pitm")?.data;
  const properties = boxes.find(({ type }) => type === "iprp")?.data;
  if (!primary || !properties) return [];
  const primaryId = primary[0] === 0 ? primary.readUInt16BE(4) : primary.readUInt32BE(4);
  const inner = boxesOf(properties, innerEnd);
  const all = boxesOf(inner.find(({ type }) => type === "ipco")?.data ?? Buffer.alloc(0), innerEnd);
  const indexes = inner
    .filter(({ type }) => type === "ipma")
    .flatMap(({ data }) => associationsOf(data, primaryId));
  return indexes
    .map((index) => all[index - 1])
    .filter((box) => box?.type === "colr")
    .map((box) => box?.data ?? Buffer.alloc(0));
}

/** `ipma`: per item its id and the places (from 1) of its properties. */
function associationsOf(data: Buffer, itemId: number): number[] {
  const [version, isWide] = [data[0] ?? 0, ((data[3] ?? 0) & 1) === 1];
  let at = 8;
  for (let left = data.readUInt32BE(4); left > 0; left -= 1) {
    const id = version < 1 ? data.readUInt16BE(at) : data.readUInt32BE(at);
    at += version < 1 ? 2 : 4;
    const count = data.readUInt8(at);
    at += 1;
    const indexes: number[] = [];
    for (let each = 0; each < count; each += 1, at += isWide ? 2 : 1)
      indexes.push(isWide ? data.readUInt16BE(at) & 0x7fff : data.readUInt8(at) & 0x7f);
    if (id === itemId) return indexes;
  }
  return [];
}

/** More bytes of texts beside a picture are not looked at. */
const sideBytes = 2 * 1_048_576;
const sideItems = 64;

/** The camera data and the XMP packets beside the picture. Throws where what describes them is damaged. */
export function sideBlocksOfHeif(bytes: Buffer): SideBlock[] {
  const meta = boxesOf(bytes, outerEnd).find(({ type }) => type === "meta");
  const boxes = boxesOf(meta?.data.subarray(4) ?? none, innerEnd);
  const dataOf = (type: string) => boxes.find((box) => box.type === type)?.data ?? none;
  const kinds = sideItemsOf(dataOf("iinf"));
  return kinds.size === 0 ? [] : sideItemData(dataOf("iloc"), { kinds, file: bytes, inner: dataOf("idat") });
}

const none = Buffer.alloc(0);

/** `iinf`: an `infe` per item, of which those that are wanted here have four letters for their kind. */
function sideItemsOf(data: Buffer): ReadonlyMap<number, SideBlock["kind"]> {
  const found = new Map<number, SideBlock["kind"]>();
  for (const { type, data: entry } of boxesOf(data.subarray(data[0] === 0 ? 6 : 8), innerEnd)) {
    const version = entry[0] ?? 0;
    if (type !== "infe" || version < 2 || found.size === sideItems) continue;
    const kindAt = version === 2 ? 8 : 10;
    const id = entry.readUIntBE(4, kindAt - 6);
    const kind = entry.toString("latin1", kindAt, kindAt + 4);
    // A name, and the type of what it is.
    const [, mime] = entry.toString("latin1", kindAt + 4, kindAt + 200).split("\0");
    if (kind === "Exif") found.set(id, "exif");
    if (kind === "mime" && mime === "application/rdf+xml") found.set(id, "xmp");
  }
  return found;
}

interface SideItems {
  readonly kinds: ReadonlyMap<number, SideBlock["kind"]>;
  readonly file: Buffer;
  /** What stands within the description itself. */
  readonly inner: Buffer;
}

function sideItemData(data: Buffer, { kinds, file, inner }: SideItems): SideBlock[] {
  const pieces = new Map<number, Buffer[]>();
  let leftBytes = sideBytes;
  for (const { id, isInner, start, size } of placesOf(data)) {
    const piece = (isInner ? inner : file).subarray(start, start + size);
    if (!kinds.has(id) || piece.length === 0 || piece.length > leftBytes) continue;
    leftBytes -= piece.length;
    const own = pieces.get(id);
    if (own) own.push(piece);
    else pieces.set(id, [piece]);
  }
  return [...pieces].map(([id, own]) => {
    const [kind, whole] = [kinds.get(id) ?? "exif", Buffer.concat(own)];
    // Camera data begin with how far behind they do.
    const skipped = kind === "exif" && whole.length >= 4 ? 4 + whole.readUInt32BE(0) : 0;
    return { kind, data: whole.subarray(skipped) };
  });
}

interface Place {
  readonly id: number;
  /** Within the description itself, and not in the file. */
  readonly isInner: boolean;
  readonly start: number;
  readonly size: number;
}

/** `iloc`: per item the places of its pieces. */
function* placesOf(data: Buffer): Generator<Place> {
  const [version, sizes] = [data.readUInt8(0), data.readUInt16BE(4)];
  const sizeAt = (shift: number) => (sizes >> shift) & 0x0f;
  const idBytes = version < 2 ? 2 : 4;
  let at = 6;
  const next = (size: number): number => {
    const value = size === 0 ? 0 : size > 6 ? Number(data.readBigUInt64BE(at)) : data.readUIntBE(at, size);
    at += size;
    return value;
  };
  let pieces = 0;
  for (let items = next(idBytes); items > 0; items -= 1) {
    const id = next(idBytes);
    const isInner = version > 0 && (next(2) & 0x0f) === 1;
    next(2);
    const base = next(sizeAt(4));
    for (let each = next(2); each > 0; each -= 1) {
      pieces += 1;
      assertFewParts(pieces);
      if (version > 0) next(sizeAt(0));
      yield { id, isInner, start: base + next(sizeAt(12)), size: next(sizeAt(8)) };
    }
  }
}
