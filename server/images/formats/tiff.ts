import type { AppError } from "../../platform/errors.ts";
import { assertFewParts, type Container, unreadable, usual } from "./container.ts";
import { unsupportedAs } from "./simple.ts";

const tag = {
  kind: 254,
  oldKind: 255,
  width: 256,
  height: 257,
  bits: 258,
  compression: 259,
  photometric: 262,
  channels: 277,
  inner: 330,
  extraChannels: 338,
  sampleFormat: 339,
  subsampling: 530,
  dngVersion: 50_706,
} as const;
/** A directory has a list of each of them, one for each channel; the first stands for all. */
const listTags: ReadonlySet<number> = new Set([tag.bits, tag.extraChannels, tag.sampleFormat]);
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
        const isElsewhere = listTags.has(name) && type === 3 && 2 * offset(at + 4) > offsetBytes;
        values.set(name, (readAs.get(type) ?? long)(isElsewhere ? offset(at + valueAt) : at + valueAt));
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

const photometrics = {
  whiteIsZero: 0,
  blackIsZero: 1,
  rgb: 2,
  palette: 3,
  cmyk: 5,
  yCbCr: 6,
  lab: 8,
  colourFilterArray: 32_803,
} as const;

/** None, CCITT, LZW, JPEG, ZIP, PackBits. */
const compressions: ReadonlySet<number> = new Set([1, 2, 3, 4, 5, 6, 7, 8, 32_773, 32_946]);
const [oldJpeg, jpeg] = [6, 7];
const decodedChannels = 5;

const sampleKinds = new Map([
  [1, ""],
  [2, "signed "],
  [3, "float "],
  [4, ""],
]);

interface ReadForm {
  readonly name: string;
  /** The samples that the decoder reads as they are meant. */
  readonly samples: readonly string[];
}

const grey: ReadForm = { name: "grey", samples: ["1", "2", "4", "8", "16"] };
const readForms = new Map<number, ReadForm>([
  [photometrics.whiteIsZero, grey],
  [photometrics.blackIsZero, grey],
  [photometrics.rgb, { name: "RGB", samples: ["8", "16", "float 16", "float 32"] }],
  [photometrics.palette, { name: "a palette", samples: ["1", "2", "4", "8"] }],
  [photometrics.cmyk, { name: "CMYK", samples: ["8", "16"] }],
  [photometrics.yCbCr, { name: "YCbCr", samples: ["8"] }],
  [photometrics.lab, { name: "Lab", samples: ["16", "float 32"] }],
]);

/** What the decoder cannot read, or would read wrongly; null for a picture that it reads. */
function oddityOf(directory: TiffDirectory): string | null {
  const { values } = directory;
  const compression = values.get(tag.compression) ?? 1;
  if (!compressions.has(compression)) return `compression ${compression}`;
  const channels = values.get(tag.channels) ?? 1;
  if (channels > decodedChannels) return `${channels} channels`;
  const photometric = values.get(tag.photometric);
  if (photometric === undefined) return null;
  const form = readForms.get(photometric);
  if (!form) return `colours ${photometric}`;
  const bits = values.get(tag.bits) ?? (compression === oldJpeg ? 8 : 1);
  const format = values.get(tag.sampleFormat) ?? 1;
  const samples = `${sampleKinds.get(format) ?? `kind ${format} `}${bits}`;
  if (!form.samples.includes(samples)) return `${form.name} of ${samples} bits`;
  return channelOddity(directory, { form, channels, bits, isJpeg: [oldJpeg, jpeg].includes(compression) });
}

interface Layout {
  readonly form: ReadForm;
  readonly channels: number;
  readonly bits: number;
  readonly isJpeg: boolean;
}

function channelOddity(directory: TiffDirectory, { form, channels, bits, isJpeg }: Layout): string | null {
  const { values } = directory;
  const photometric = values.get(tag.photometric);
  if (channels > 1 && (bits < 8 || photometric === photometrics.palette))
    return `${form.name} of ${channels} channels`;
  if (photometric === photometrics.lab && hasAlpha(directory)) return "Lab with transparency";
  const isWhole = values.get(tag.subsampling) === 1;
  return photometric === photometrics.yCbCr && isWhole && !isJpeg ? "YCbCr without JPEG" : null;
}

const alphas: ReadonlySet<number> = new Set([1, 2]);
/** Channels with colours, by the photometric interpretation; one of the others. */
const coloursOf = new Map<number | undefined, number>([
  [photometrics.rgb, 3],
  [photometrics.cmyk, 4],
  [photometrics.yCbCr, 3],
  [photometrics.lab, 3],
]);

function countExtras({ values }: TiffDirectory): number {
  const colours = coloursOf.get(values.get(tag.photometric)) ?? 1;
  return Math.max(0, (values.get(tag.channels) ?? colours) - colours);
}

/** Whether the first of the channels beside colours is transparency, as it is where nothing says so. */
function hasAlpha(directory: TiffDirectory): boolean {
  const extra = directory.values.get(tag.extraChannels);
  return countExtras(directory) > 0 && (extra === undefined || alphas.has(extra));
}

/** Channels beside colours and transparency: selections that were kept, and spot colours. */
const countSideChannels = (directory: TiffDirectory) =>
  countExtras(directory) - (hasAlpha(directory) ? 1 : 0);

/** TIFF: the directory whose picture is taken. Throws `upload_unsupported` for a camera's raw file in a TIFF and for odd forms. */
export function readTiff(bytes: Buffer): Container {
  const reader = tiffReader(bytes);
  const first = reader.directory(reader.first);
  const main = mainDirectory(reader, first);
  const { values, entries, next } = main;
  if (first.values.has(tag.dngVersion) || values.get(tag.photometric) === photometrics.colourFilterArray)
    throw rawFile();
  const [widthPx, heightPx] = [values.get(tag.width), values.get(tag.height)];
  if (widthPx === undefined || heightPx === undefined) throw unreadable("no size");
  const oddity = oddityOf(main);
  if (oddity !== null) throw unsupportedAs(`image/tiff; ${oddity}`);
  return {
    ...usual,
    format: "tiff",
    widthPx,
    heightPx,
    isAnimated: next !== 0,
    isLossless: true,
    sideChannels: countSideChannels(main),
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
