import { setImmediate } from "node:timers/promises";
import sharp from "sharp";
import { pictureLimits } from "../platform/picture-limits.ts";
import { type Fit, fitTiles, whitened } from "./fit.ts";
import { chipOfPixel, chips, idOf, markBits, syncOwner, tilePx } from "./pattern.ts";
import {
  type Plane,
  type Scale,
  clearestSquare,
  foldColumns,
  foldRows,
  foldTiles,
  residualOf,
} from "./residual.ts";

export interface FoundMark {
  /** 32 bits. */
  readonly id: number;
  /** How far the place of the tiles stands out, in standard deviations; unmarked pictures reach 6.4. */
  readonly clarity: number;
  /** Pixels for each cell of a tile: 1.5 in a picture of its own size (1 before marks had chips of 3 px). */
  readonly scale: Scale;
}

/**
 * How a picture is looked at: at half its size, as it is, at twice its size. Pixels for each cell there: those of pictures that were
 * not scaled or are half their size, and from where to where the others are searched.
 */
const views = [
  { shrink: 2, usual: [0.75], from: 0.6, to: 1.2 },
  { shrink: 1, usual: [1, 0.75], from: 0.75, to: 1.2 },
  { shrink: 0.5, usual: [1], from: 1, to: 1.5 },
] as const;
type View = (typeof views)[number];

const sidePx = 1_280;
const leastClarity = 6.5;
const maxPixels = pictureLimits.uploadMegapixels * 1_000_000;
const decodeSeconds = 10;
/** Of the whole look. A picture in which nothing was found until then counts as one without a mark. */
const findSeconds = 20;

/**
 * The mark of a picture, also after it was scaled to 0.4 to 1.5 of its size; null without one, and for what is no picture. Looks at
 * its middle only, for up to 0.8 s of processor time, with rests in which other requests are served.
 */
export async function findMark(bytes: Buffer): Promise<FoundMark | null> {
  const untilMs = performance.now() + findSeconds * 1_000;
  const grey = await decodeMiddle(bytes).catch(() => null);
  if (!grey) return null;
  const looks: Look[] = [];
  for (const view of views) {
    const plane = await planeOf(grey, view.shrink).catch(() => null);
    if (!plane) return null;
    looks.push({ ...view, plane, untilMs });
    for (const scale of view.usual) {
      const found = readAt(plane, { across: scale, down: scale });
      if (found) return seenAt(found, view);
    }
  }
  for (const look of looks) {
    const found = await search(look);
    if (found) return seenAt(found, look);
  }
  return null;
}

type Look = View & { readonly plane: Plane; readonly untilMs: number };

function seenAt({ id, clarity, scale: { across, down } }: FoundMark, { shrink }: View): FoundMark {
  return { id, clarity, scale: { across: across * shrink, down: down * shrink } };
}

interface Grey {
  readonly data: Buffer;
  readonly width: number;
  readonly height: number;
}

/** What the view of the largest part needs. */
const decodedPx = sidePx * Math.max(...views.map(({ shrink }) => shrink));

async function decodeMiddle(bytes: Buffer): Promise<Grey> {
  const picture = sharp(bytes, { limitInputPixels: maxPixels, autoOrient: true }).timeout({
    seconds: decodeSeconds,
  });
  const { width, height } = (await picture.metadata()).autoOrient;
  const { data, info } = await picture
    .extract(middleOf({ width, height }, Math.min(width, decodedPx), Math.min(height, decodedPx)))
    .flatten({ background: "#ffffff" })
    .greyscale()
    .toColourspace("b-w")
    .raw()
    .toBuffer({ resolveWithObject: true });
  return { data, width: info.width, height: info.height };
}

async function planeOf({ data, width, height }: Grey, shrink: number): Promise<Plane> {
  const [across, down] = [width, height].map((side) => Math.floor(Math.min(side / shrink, sidePx)));
  if (!across || !down) throw new RangeError("The picture is too small.");
  const shown = await sharp(data, { raw: { width, height, channels: 1 } })
    .extract(middleOf({ width, height }, Math.floor(across * shrink), Math.floor(down * shrink)))
    .resize(across, down, { fit: "fill", kernel: "cubic" })
    .toColourspace("b-w")
    .raw()
    .toBuffer({ resolveWithObject: true });
  return residualOf(shown.data, shown.info.width, shown.info.height);
}

function middleOf(whole: Omit<Grey, "data">, width: number, height: number) {
  return {
    left: Math.floor((whole.width - width) / 2),
    top: Math.floor((whole.height - height) / 2),
    width,
    height,
  };
}

/** The square in which all scales are tried. */
const searchedPx = 512;
/** At its edge, a tried scale is wrong by at most so many cells; a chip has two. */
const mostDrift = 1;
/**
 * Scales that are looked at closely, the clearest first, until one does not come out. Marks in the sample photos began with 8 and more,
 * chance reaches 5.
 */
const closerLooks = { count: 4, leastClarity: 4.5, leastAfter: 5 };
const fitsBetweenRests = 16;

interface Tried {
  readonly scale: Scale;
  readonly clarity: number;
}

async function search({ plane, from, to, untilMs }: Look): Promise<FoundMark | null> {
  const square = clearestSquare(plane, searchedPx);
  const halfPx = Math.max(square.widthPx, square.heightPx) / 2;
  const scales: Scale[] = [];
  for (let scale = from; scale <= to; scale += (2 * mostDrift * scale ** 2) / halfPx)
    scales.push({ across: scale, down: scale });
  const tried: Tried[] = [];
  for (let at = 0; at < scales.length; at += fitsBetweenRests) {
    if (performance.now() > untilMs) return null;
    tried.push(...tryScales(square, scales.slice(at, at + fitsBetweenRests)));
    await setImmediate();
  }
  const clearest = tried
    .filter(({ clarity }) => clarity >= closerLooks.leastClarity)
    .toSorted((one, other) => other.clarity - one.clarity);
  for (const near of clearest.slice(0, closerLooks.count)) {
    if (performance.now() > untilMs) return null;
    const scale = await closeIn(square, near, (mostDrift * near.scale.across ** 2) / halfPx);
    const found = scale && readAt(plane, scale);
    if (found) return found;
  }
  return null;
}

function tryScales(plane: Plane, scales: readonly Scale[]): Tried[] {
  const tried: Tried[] = [];
  const rows = new Map<number, Float64Array>();
  const fold = ({ across, down }: Scale) => {
    const folded = rows.get(down) ?? foldRows(plane, down);
    rows.set(down, folded);
    return foldColumns(folded, across);
  };
  for (let at = 0; at < scales.length; at += 2) {
    const pair = scales.slice(at, at + 2);
    const [one = nothing, other = nothing] = pair.map(fold);
    const fits = fitTiles(one, other);
    tried.push(...pair.map((scale, which) => ({ scale, clarity: fits[which]?.clarity ?? 0 })));
  }
  return tried;
}

const nothing = new Float64Array(tilePx ** 2);
const directions = [
  [1, 1],
  [-1, -1],
  [1, 0],
  [-1, 0],
  [0, 1],
  [0, -1],
] as const;
const halvings = 4;

/** The clearest scale near this one, of which the sides may differ; null where it stays dim. */
async function closeIn(plane: Plane, start: Tried, firstStep: number): Promise<Scale | null> {
  let best = start;
  for (let halving = 0; halving < halvings; halving += 1) {
    const step = firstStep / 2 ** halving;
    const { across, down } = best.scale;
    const near = directions.map(([x, y]) => ({ across: across + x * step, down: down + y * step }));
    for (const tried of tryScales(plane, near)) if (tried.clarity > best.clarity) best = tried;
    await setImmediate();
    if (best.clarity < closerLooks.leastAfter) return null;
  }
  return best.scale;
}

function readAt(plane: Plane, scale: Scale): FoundMark | null {
  const folded = foldTiles(plane, scale);
  const [fit] = fitTiles(folded, nothing);
  if (!(fit.clarity >= leastClarity)) return null;
  const doubtful = fit.clarity >= surelyMarked.clarity ? surelyMarked.doubtful : leastDoubtful;
  const id = readBits(sumBits(whitened(folded), fit), doubtful) ?? readBits(sumBits(folded, fit), doubtful);
  return id === null ? null : { id, clarity: fit.clarity, scale };
}

function sumBits(folded: Float64Array, { at }: Fit): Float64Array {
  const { owner, sign } = chips();
  const [left, top] = [at % tilePx, Math.floor(at / tilePx)];
  const sums = new Float64Array(markBits);
  for (let pixel = 0; pixel < tilePx ** 2; pixel += 1) {
    const chip = chipOfPixel(pixel);
    const bit = owner[chip] ?? syncOwner;
    if (bit === syncOwner) continue;
    const [x, y] = [(pixel + left) % tilePx, (Math.floor(pixel / tilePx) + top) % tilePx];
    sums[bit] = (sums[bit] ?? 0) + (sign[chip] ?? 0) * (folded[y * tilePx + x] ?? 0);
  }
  return sums;
}

/** Bits that were hardly seen, of which each combination is tried: 256 of 16 million checksums. */
const leastDoubtful = 8;
/** Above what pictures without a mark reach, so that 4,096 checksums may be tried. */
const surelyMarked = { clarity: 7, doubtful: 12 };

function readBits(sums: Float64Array, doubtful: number): number | null {
  const bits = Int8Array.from(sums, (sum) => (sum > 0 ? 1 : -1));
  const weakest = [...sums.keys()]
    .toSorted((one, other) => Math.abs(sums[one] ?? 0) - Math.abs(sums[other] ?? 0))
    .slice(0, doubtful);
  for (let flips = 0; flips < 2 ** doubtful; flips += 1) {
    const tried = Int8Array.from(bits);
    for (const [at, bit] of weakest.entries()) if ((flips >> at) & 1) tried[bit] = -(tried[bit] ?? 0);
    const id = idOf(tried);
    if (id !== null) return id;
  }
  return null;
}
