import type { CV } from "@techstark/opencv-js";
import { AppError } from "@atelier/server/platform";
import { boxBlur, cutLabel, grabCut, morph } from "../raster/filters.ts";
import {
  areaOf,
  byteAt,
  clamp,
  floatAt,
  intAt,
  invert,
  type Mask,
  maskWhere,
  median,
  resizeGrid,
  resizeMask,
  type Rgb,
  rgbPlanes,
  type Size,
} from "../raster/grid.ts";
import { fillHoles, largestComponent } from "../raster/shapes.ts";

const workSidePx = 384;

/** The garment on a busy ground: grabCut from a rectangle in the middle. */
function maskByCut(cv: CV, picture: Rgb): { cloth: Mask; isGround: Mask } {
  const scale = workSidePx / Math.max(picture.width, picture.height);
  const size = { width: Math.round(picture.width * scale), height: Math.round(picture.height * scale) };
  const labels = { ...size, data: startLabels(size) };
  const mask = grabCut(cv, resizeGrid(cv, picture, size), { labels, iterations: 5 });
  const cloth = resizeMask(cv, mask, picture);
  return { cloth, isGround: invert(cloth) };
}

function startLabels({ width, height }: Size): Uint8Array {
  return new Uint8Array(width * height).map((_value, i) => {
    const across = Math.abs((i % width) / width - 0.5);
    const down = Math.abs(Math.floor(i / width) / height - 0.5);
    if (across > 0.46 || down > 0.46) return cutLabel.background;
    if (across < 0.12 && down < 0.25) return cutLabel.foreground;
    return across < 0.36 && down < 0.4 ? cutLabel.maybeForeground : cutLabel.maybeBackground;
  });
}

/** How the pixels of a garment photo differ from the ground that its border shows. */
interface Ground {
  readonly border: Int32Array;
  /** Of the border from its own median: small for a plain ground. */
  readonly deviation: number;
  /** Largest difference of a channel, 0..255. */
  readonly difference: Float32Array;
  /** Brighter (positive) or darker than the ground. */
  readonly lightness: Float32Array;
  /** Difference in tint alone. */
  readonly tint: Float32Array;
}

const blurPx = 2;
const borderQuantile = 0.85;

function groundDifference(picture: Rgb): Ground {
  const planes = rgbPlanes(picture).map((plane) => boxBlur(plane, blurPx, 2).data);
  const border = borderOf(picture);
  const offsets = planes.map((plane) => {
    const ground = median(Array.from(border, (i) => floatAt(plane, i)));
    return plane.map((value) => value - ground);
  });
  const [red, green, blue] = offsets as [Float32Array, Float32Array, Float32Array];
  const combine = (of: (r: number, g: number, b: number) => number) =>
    red.map((r, i) => of(r, floatAt(green, i), floatAt(blue, i)));
  const difference = combine((r, g, b) => Math.max(Math.abs(r), Math.abs(g), Math.abs(b)));
  const sorted = Float32Array.from(border, (i) => floatAt(difference, i)).toSorted();
  return {
    border,
    difference,
    deviation: floatAt(sorted, Math.floor(sorted.length * borderQuantile)),
    lightness: combine((r, g, b) => (r + g + b) / 3),
    tint: combine((r, g, b) => Math.max(r, g, b) - Math.min(r, g, b)),
  };
}

/** Indexes one pixel inside the edge. */
function borderOf({ width, height }: Size): Int32Array {
  const border = new Int32Array(2 * (width + height));
  let next = 0;
  for (let x = 0; x < width; x++) {
    border[next++] = width + x;
    border[next++] = (height - 2) * width + x;
  }
  for (let y = 0; y < height; y++) {
    border[next++] = y * width + 1;
    border[next++] = y * width + width - 2;
  }
  return border;
}

function shareOfBorder({ border }: Ground, isSet: (index: number) => boolean): number {
  let count = 0;
  for (let n = 0; n < border.length; n++) if (isSet(intAt(border, n))) count++;
  return count / border.length;
}

const tintOfCloth = 9;
const darkestShadow = 110;

/** The garment on a plain ground: all pixels that a flood from the border does not reach, without soft shadows. */
function maskByFlood(cv: CV, ground: Ground, size: Size): { cloth: Mask; isGround: Mask } {
  const tolerance = clamp(ground.deviation * 0.9, 7, 12);
  const flooded = flood(ground, size, tolerance);
  const rest = maskWhere(size, (i) => !byteAt(flooded, i));
  // A shadow is a little darker than the ground without a tint; how dark counts as cloth depends on the garment.
  const inner = morph(cv, rest, ["erode", 0.03 * size.width]);
  const lightness: number[] = [];
  for (let i = 0; i < rest.data.length; i += 7) {
    if (byteAt(inner.data, i)) lightness.push(Math.abs(floatAt(ground.lightness, i)));
  }
  const limit =
    lightness.length > 0 ? clamp(0.55 * median(lightness), tolerance, darkestShadow) : darkestShadow;
  const cloth = maskWhere(size, (i) => {
    if (!byteAt(rest.data, i)) return false;
    const light = floatAt(ground.lightness, i);
    return floatAt(ground.tint, i) > tintOfCloth || light > tolerance || -light > limit;
  });
  return { cloth, isGround: { ...size, data: flooded } };
}

function flood(ground: Ground, { width, height }: Size, tolerance: number): Uint8Array {
  const reached = new Uint8Array(width * height);
  const stack: number[] = [];
  const visit = (i: number) => {
    if (i < 0 || i >= reached.length || byteAt(reached, i)) return;
    if (floatAt(ground.difference, i) >= tolerance) return;
    reached[i] = 1;
    stack.push(i);
  };
  for (const i of ground.border) visit(i);
  for (let i = stack.pop(); i !== undefined; i = stack.pop()) {
    const x = i % width;
    if (x > 0) visit(i - 1);
    if (x < width - 1) visit(i + 1);
    visit(i - width);
    visit(i + width);
  }
  return reached;
}

/** Overlap of a mask with its mirror image, 0..1, about the best axis near its middle. */
function measureSymmetry(mask: Mask): number {
  let left = mask.width;
  let right = 0;
  for (let i = 0; i < mask.data.length; i++) {
    if (!byteAt(mask.data, i)) continue;
    left = Math.min(left, i % mask.width);
    right = Math.max(right, i % mask.width);
  }
  let best = 0;
  for (let shift = -3; shift <= 3; shift++) {
    best = Math.max(best, overlapAbout(mask, Math.round(left + right + shift * 0.04 * (right - left))));
  }
  return best;
}

/** `axisTwice` is the sum of the columns of a pixel and its mirror image. */
function overlapAbout({ data, width, height }: Mask, axisTwice: number): number {
  let both = 0;
  let any = 0;
  const first = Math.max(0, axisTwice - width + 1);
  const last = Math.min(width - 1, axisTwice);
  for (let row = 0; row < height * width; row += 2 * width) {
    for (let x = first; x <= last; x += 2) {
      const a = byteAt(data, row + x);
      const b = byteAt(data, row + axisTwice - x);
      both += a & b;
      any += a | b;
    }
  }
  return any > 0 ? both / any : 0;
}

export interface Gate {
  /** Key of the gate, for programs. */
  readonly gate: string;
  readonly score: number;
}

export function refuseGarment(message: string, { gate, score }: Gate): AppError {
  return new AppError("garment_unsuitable", message, {
    details: { gate, score: Math.round(score * 1_000) / 1_000 },
  });
}

interface GarmentScores {
  readonly method: "flood" | "cut";
  /** Share of the picture. */
  readonly share: number;
  /** Share of the largest piece. */
  readonly onePiece: number;
  readonly borderTouch: number;
  readonly symmetry: number;
  /** Levels between the cloth and its ground. */
  readonly contrast: number;
}

export interface CutGarment {
  readonly mask: Mask;
  /** Pixels of `mask` that show no ground: the rim and narrow gaps do, as at the armpits. */
  readonly cloth: Mask;
  readonly scores: GarmentScores;
}

/** Within this distance the ground's colour still mixes in. */
const rimPx = 4;
const plainGroundDeviation = 16;

/** Cuts a garment out of its product photo. Throws `garment_unsuitable`. */
export function garmentMask(cv: CV, picture: Rgb): CutGarment {
  const ground = groundDifference(picture);
  const method = ground.deviation < plainGroundDeviation ? "flood" : "cut";
  const { cloth: raw, isGround } =
    method === "flood" ? maskByFlood(cv, ground, picture) : maskByCut(cv, picture);
  const calm = morph(cv, morph(cv, raw, ["open", 2]), ["close", 3]);
  const largest = largestComponent(cv, calm);
  const pixels = picture.width * picture.height;
  const mask = fillHoles(cv, largest.mask, { accept: (areaPx) => areaPx < 0.02 * pixels });
  // Landmarks look for runs of pixels with an end.
  mask.data.fill(0, 0, picture.width).fill(0, pixels - picture.width);
  const scores: GarmentScores = {
    method,
    share: areaOf(mask) / pixels,
    onePiece: largest.share,
    borderTouch: shareOfBorder(ground, (i) => byteAt(mask.data, i) === 1),
    symmetry: measureSymmetry(mask),
    contrast: contrastOf(cv, mask, ground),
  };
  requireGarment(scores);
  const nearGround = morph(cv, isGround, ["dilate", rimPx]);
  const inner = morph(cv, mask, ["erode", rimPx]);
  const cloth = maskWhere(mask, (i) => byteAt(inner.data, i) === 1 && !byteAt(nearGround.data, i));
  return { mask, cloth, scores };
}

function contrastOf(cv: CV, mask: Mask, ground: Ground): number {
  const inner = morph(cv, mask, ["erode", 0.03 * mask.width]);
  const differences: number[] = [];
  for (let i = 0; i < inner.data.length; i += 5) {
    if (byteAt(inner.data, i)) differences.push(floatAt(ground.difference, i));
  }
  return median(differences);
}

// The start rectangle of the cut is symmetric itself, so its result must reach a higher score.
const minSymmetry = { flood: 0.8, cut: 0.95 } as const;

function requireGarment({ method, share, onePiece, borderTouch, symmetry, contrast }: GarmentScores): void {
  if (share < 0.06 || share > 0.9) {
    throw refuseGarment("No garment was found. Use a photo of one garment on a plain ground.", {
      gate: "garment_size",
      score: share,
    });
  }
  if (onePiece < 0.75) {
    throw refuseGarment("There are several things in the garment photo. Use a photo of one garment alone.", {
      gate: "garment_pieces",
      score: onePiece,
    });
  }
  if (borderTouch > 0.2) {
    throw refuseGarment(
      "The garment is cut off by the edge of its photo. Use a photo that shows all of it.",
      {
        gate: "garment_cut",
        score: borderTouch,
      },
    );
  }
  if (contrast < 20) {
    throw refuseGarment(
      "The garment has nearly the colour of its ground. Photograph it on a ground of another colour.",
      { gate: "garment_contrast", score: contrast },
    );
  }
  if (symmetry < minSymmetry[method]) {
    throw refuseGarment(
      "This does not look like a garment laid out flat and seen from the front. Use such a photo.",
      { gate: "garment_symmetry", score: symmetry },
    );
  }
}
