import { thumbHashToRGBA } from "thumbhash";
import type { GarmentColour } from "./names.ts";

interface Rgb {
  readonly r: number;
  readonly g: number;
  readonly b: number;
}

/** Below it a pixel is as good as transparent, 0..255. */
const leastAlpha = 128;
/** Sum over red, green and blue within which a pixel is the ground on which a garment lies. */
const groundDistance = 60;

const distance = (one: Rgb, other: Rgb) =>
  Math.abs(one.r - other.r) + Math.abs(one.g - other.g) + Math.abs(one.b - other.b);

/** Hues in degrees, each up to its end. */
const hues: readonly (readonly [end: number, colour: GarmentColour])[] = [
  [15, "red"],
  [40, "orange"],
  [68, "yellow"],
  [165, "green"],
  [255, "blue"],
  [312, "purple"],
  [338, "pink"],
  [360, "red"],
];

function hueOf({ r, g, b }: Rgb, most: number, spread: number): number {
  if (most === r) return ((((g - b) / spread) % 6) * 60 + 360) % 360;
  return most === g ? ((b - r) / spread + 2) * 60 : ((r - g) / spread + 4) * 60;
}

/** The word for one colour, channels 0..255. */
export function nameColour(rgb: Rgb): GarmentColour {
  const most = Math.max(rgb.r, rgb.g, rgb.b);
  const least = Math.min(rgb.r, rgb.g, rgb.b);
  const spread = most - least;
  const lightness = (most + least) / 510;
  if (lightness < 0.16 || (lightness < 0.25 && spread < 20)) return "black";
  if (spread < 26) return lightness > 0.82 ? "white" : "grey";
  const hue = hueOf(rgb, most, spread);
  const named = hues.find(([end]) => hue <= end)?.[1] ?? "red";
  if (named === "orange" && lightness < 0.45) return "brown";
  return named === "red" && lightness > 0.68 ? "pink" : named;
}

interface Pixel extends Rgb {
  readonly isSolid: boolean;
}

/** The pixels of a thumbhash, row by row, and those of its corners. */
function readPixels(thumbhash: string): {
  readonly pixels: readonly Pixel[];
  readonly corners: readonly Pixel[];
} {
  const { w, h, rgba } = thumbHashToRGBA(Buffer.from(thumbhash, "base64"));
  const pixels = Array.from({ length: w * h }, (_, at) => ({
    r: rgba[at * 4] ?? 0,
    g: rgba[at * 4 + 1] ?? 0,
    b: rgba[at * 4 + 2] ?? 0,
    isSolid: (rgba[at * 4 + 3] ?? 0) >= leastAlpha,
  }));
  return { pixels, corners: [0, w - 1, (h - 1) * w, h * w - 1].flatMap((at) => pixels[at] ?? []) };
}

/**
 * The colour of what a picture shows, by its thumbhash (base64): the commonest one of what is neither transparent nor the
 * ground in its corners.
 */
export function colourOf(thumbhash: string): GarmentColour {
  const { pixels, corners } = readPixels(thumbhash);
  const grounds = corners.filter(({ isSolid }) => isSolid);
  const solid = pixels.filter(({ isSolid }) => isSolid);
  const fromGround = (pixel: Rgb) => Math.min(...grounds.map((ground) => distance(ground, pixel)), 765);
  const farthest = Math.max(0, ...solid.map(fromGround));
  // A thumbhash is soft: between an object and its ground there are colours of neither.
  const least = Math.max(groundDistance, 0.75 * farthest);
  const object = solid.filter((pixel) => fromGround(pixel) >= least);
  const counts = new Map<GarmentColour, number>();
  // What is all ground, such as cloth that fills the picture, is the colour of the ground.
  for (const pixel of object.length * 20 < solid.length ? solid : object) {
    const name = nameColour(pixel);
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return [...counts].toSorted((one, other) => other[1] - one[1])[0]?.[0] ?? "white";
}
