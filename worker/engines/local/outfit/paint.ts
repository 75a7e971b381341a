import type { Sides } from "../people/body.ts";
import { boxBlur, maskedBlur } from "../raster/filters.ts";
import {
  byteAt,
  clamp,
  emptyPlane,
  floatAt,
  intAt,
  lumaPlane,
  type Mask,
  maskWhere,
  type Plane,
  planeOf,
  type Planes,
  type Point,
  type Rgb,
  rgbPlanes,
  sampleLinear,
  smoothstep,
} from "../raster/grid.ts";
import { nearestIndex } from "../raster/shapes.ts";
import type { ArmFit, ArmPosition, SeamPosition } from "./fit-arms.ts";
import type { TorsoFit } from "./fit-torso.ts";
import type { Scene } from "./change.ts";

/** The colours of a part of the garment, continued beyond its outline, and where the part is. */
interface Texture {
  readonly colors: Planes;
  /** 0..1, soft at the outline. */
  readonly cover: Plane;
}

/** `cloth` marks the pixels of the photo that show nothing but cloth. */
export function garmentTexture(garment: { picture: Rgb; cloth: Mask }, part: Mask): Texture {
  const inner = maskWhere(part, (i) => byteAt(part.data, i) === 1 && byteAt(garment.cloth.data, i) === 1);
  const nearest = nearestIndex(inner);
  const colors = rgbPlanes(garment.picture);
  // Outside a smoothed colour of the nearest inner pixel: noise would become streaks.
  const smooth = maskedBlur(colors, planeOf(inner), 3);
  for (const c of [0, 1, 2] as const) extend(colors[c].data, smooth[c].data, nearest);
  return { colors, cover: boxBlur(planeOf(part), 1, 2) };
}

/** Gives each pixel outside the smoothed colour of the pixel inside that is nearest to it. */
function extend(colors: Float32Array, smooth: Float32Array, nearest: Int32Array): void {
  for (let i = 0; i < colors.length; i++) {
    const source = intAt(nearest, i);
    if (source >= 0 && source !== i) colors[i] = floatAt(smooth, source);
  }
}

/** What part of the body a pixel would show. */
export const zone = { none: 0, torso: 1, sleeve: 2, bareArm: 3 } as const;

/** The warped garment at the size of the person's photo, before it is decided where it is seen. */
export interface Painted {
  readonly colors: Planes;
  /** How much of the garment lies there, 0..1. */
  readonly cover: Plane;
  /** One `zone` per pixel. */
  readonly zones: Uint8Array;
  /** Darkening along the seams, 0..0.1. */
  readonly crease: Plane;
}

export interface Fit {
  readonly torso: TorsoFit;
  readonly arms: Sides<ArmFit>;
  readonly textures: { readonly torso: Texture; readonly sleeves: Sides<Texture> | undefined };
}

/** Width of the band around a seam in which torso and sleeve blend, in shoulder widths. */
const blendBand = 0.2;

/** Warps the garment onto the body, pixel by pixel. */
export function paintGarment(scene: Scene, fit: Fit): Painted {
  const { picture, frame } = scene;
  const painted: Painted = {
    colors: [emptyPlane(picture), emptyPlane(picture), emptyPlane(picture)],
    cover: emptyPlane(picture),
    zones: new Uint8Array(picture.width * picture.height),
    crease: emptyPlane(picture),
  };
  for (let i = 0; i < painted.zones.length; i++) {
    const pixel = bodyPixelOf(scene, fit, i);
    const isNear =
      pixel.down >= -0.7 && pixel.down <= fit.torso.hemDown + 0.9 && Math.abs(pixel.across) <= 2.2;
    if (!isNear) continue;
    const share = sleeveShare(pixel, frame.shoulderWidthPx);
    if (fit.textures.sleeves) paintWithSleeves({ scene, fit, painted }, pixel, share);
    else paintSleeveless({ scene, fit, painted }, pixel, share);
  }
  return painted;
}

/** A pixel as seen from the body. */
interface BodyPixel extends Point {
  readonly i: number;
  readonly across: number;
  readonly down: number;
  readonly side: 0 | 1;
  readonly arm: ArmFit;
  readonly onArm: ArmPosition;
  readonly seam: SeamPosition;
}

interface Work {
  readonly scene: Scene;
  readonly fit: Fit;
  readonly painted: Painted;
}

function bodyPixelOf({ frame, picture }: Scene, fit: Fit, i: number): BodyPixel {
  const x = i % picture.width;
  const y = Math.floor(i / picture.width);
  const { across, down } = bodyPosition(frame, { x, y });
  const side = across < 0 ? 0 : 1;
  const arm = fit.arms[side];
  return { x, y, i, across, down, side, arm, onArm: arm.coordinates.at(x, y), seam: arm.seamAt(x, y) };
}

/** Body coordinates of a pixel, in shoulder widths. */
export function bodyPosition({ neck, right, down, shoulderWidthPx }: Scene["frame"], { x, y }: Point) {
  return {
    across: ((x - neck.x) * right.x + (y - neck.y) * right.y) / shoulderWidthPx,
    down: ((x - neck.x) * down.x + (y - neck.y) * down.y) / shoulderWidthPx,
  };
}

/** 0 where the torso is, 1 where the arm is, between them around the seam. */
function sleeveShare({ arm, onArm, seam, across }: BodyPixel, unit: number): number {
  const { along, offset } = onArm;
  const isInReach = along > -0.35 * unit && along < arm.coordinates.length + 0.1 * unit;
  const isBeside = offset > 0 && offset < 0.28 * unit && across * arm.sign > 0.3;
  const isOnArm = isInReach && (isBeside || Math.abs(offset) < arm.halfAt(along) * 1.06);
  if (seam.share < 1) {
    return isOnArm || seam.outward > 0 ? smoothstep(seam.outward / (blendBand * unit) + 0.5) : 0;
  }
  // An elbow that is not seen is guessed: the arm then ends at the torso's side.
  return isOnArm && (arm.isElbowSeen || seam.outward > 0) ? 1 : 0;
}

/** Beyond the outer side of an arm there is no torso; only a wide skirt may reach there. */
function isBesideBody({ scene }: Work, { seam, onArm, down }: BodyPixel): boolean {
  const unit = scene.frame.shoulderWidthPx;
  const isSkirt = scene.isLong && down > scene.frame.torsoLength * 0.75;
  return seam.share >= 1 && onArm.offset > 0 && seam.outward > 0.05 * unit && !isSkirt;
}

function paintSleeveless(work: Work, place: BodyPixel, share: number): void {
  const { painted, fit, scene } = work;
  if (share > 0.5 && place.seam.outward > 0.06 * scene.frame.shoulderWidthPx) {
    painted.zones[place.i] = zone.bareArm;
    return;
  }
  if (share <= 0 && isBesideBody(work, place)) return;
  painted.zones[place.i] = zone.torso;
  take(painted, place.i, { texture: fit.textures.torso, from: fit.torso.map(place.x, place.y) });
}

function paintWithSleeves(work: Work, place: BodyPixel, share: number): void {
  const { painted, fit, scene } = work;
  const { i, arm, seam } = place;
  if (share <= 0 && isBesideBody(work, place)) return;
  const onTorso = fit.torso.map(place.x, place.y);
  if (share <= 0) {
    painted.zones[i] = zone.torso;
    take(painted, i, { texture: fit.textures.torso, from: onTorso });
    return;
  }
  const isSleeve = share > 0.5;
  const isBeyond = isSleeve && place.onArm.along > arm.sleeveEnd;
  painted.zones[i] = isBeyond ? zone.bareArm : isSleeve ? zone.sleeve : zone.torso;
  const onSleeve = arm.sourceAt(place.onArm);
  // Positions are blended across the seam, not colours: stripes bend instead of breaking.
  const from = {
    x: onTorso.x * (1 - share) + onSleeve.x * share,
    y: onTorso.y * (1 - share) + onSleeve.y * share,
  };
  const texture = (isSleeve && fit.textures.sleeves?.[place.side]) || fit.textures.torso;
  take(painted, i, { texture, from });
  if (seam.share >= 1) return;
  const width = 0.02 * scene.frame.shoulderWidthPx;
  painted.crease.data[i] =
    0.1 * Math.exp(-((seam.outward / width) ** 2)) * smoothstep((seam.share + 0.1) * 3);
}

function take(painted: Painted, i: number, { texture, from }: { texture: Texture; from: Point }): void {
  for (const c of [0, 1, 2] as const) {
    painted.colors[c].data[i] = sampleLinear(texture.colors[c], from.x, from.y);
  }
  const { width, height } = texture.cover;
  const isInside = from.x >= 0 && from.y >= 0 && from.x < width && from.y < height;
  painted.cover.data[i] = isInside ? clamp(sampleLinear(texture.cover, from.x, from.y), 0, 1) : 0;
}

/** The garment as a layer over the photo; colours are multiplied with `alpha` already. */
export interface Overlay {
  readonly colors: Planes;
  /** 0..1, exactly 0 where the photo stays unchanged. */
  readonly alpha: Plane;
}

const minAlpha = 0.012;

/** Puts light and folds of the old clothes on the garment, an edge and a contact shadow around it. */
export function shadeOverlay(scene: Scene, paint: Painted, masks: { region: Mask; blocked: Mask }): Overlay {
  const { region, blocked } = masks;
  const unit = scene.frame.shoulderWidthPx;
  const shadeAt = foldsOf(scene, region);
  const inside = planeOf(region);
  const soft = boxBlur(inside, 1, 2).data;
  const wide = boxBlur(inside, Math.round(unit * 0.02) + 1, 2).data;
  const overlay: Overlay = {
    colors: [emptyPlane(region), emptyPlane(region), emptyPlane(region)],
    alpha: emptyPlane(region),
  };
  for (let i = 0; i < soft.length; i++) {
    const isBehind = byteAt(blocked.data, i) && !byteAt(region.data, i);
    const cover = floatAt(soft, i) * (isBehind ? 0.6 : 1);
    const near = floatAt(wide, i);
    const hasShadow = byteAt(scene.person.data, i) && cover < 0.98;
    const shadow = hasShadow ? 0.26 * clamp(near * 1.4, 0, 1) * (1 - cover) : 0;
    if (cover + shadow < minAlpha) continue;
    const edge = 1 - 0.22 * (1 - clamp((near - 0.5) * 2.2, 0, 1));
    const light = shadeAt(i) * edge * (1 - floatAt(paint.crease.data, i));
    overlay.alpha.data[i] = Math.min(1, cover + shadow);
    for (const c of [0, 1, 2] as const) {
      overlay.colors[c].data[i] = clamp(floatAt(paint.colors[c].data, i) * light, 0, 255) * cover;
    }
  }
  return overlay;
}

/** Folds (fine over coarse brightness) and broad light and shade of the old clothes, as a factor near 1. */
function foldsOf({ picture, frame }: Scene, region: Mask): (index: number) => number {
  const unit = frame.shoulderWidthPx;
  const luma = lumaPlane(picture);
  // A little lift, or the folds of black cloth would weigh too much.
  const lifted = { ...luma, data: luma.data.map((value) => value + 6) };
  const weights = planeOf(region);
  const fine = maskedBlur([lifted] as const, weights, Math.max(1, Math.round(unit * 0.012)))[0].data;
  const coarse = maskedBlur([lifted] as const, weights, Math.round(unit * 0.13))[0].data;
  let sum = 0;
  let count = 0;
  for (let i = 0; i < coarse.length; i++) {
    if (!byteAt(region.data, i)) continue;
    sum += floatAt(coarse, i);
    count++;
  }
  const mean = sum / Math.max(1, count);
  return (i) => {
    const [near, broad] = [floatAt(fine, i), floatAt(coarse, i)];
    if (near <= 0 || broad <= 0) return 1;
    return clamp(near / broad, 0.6, 1.4) ** 0.5 * clamp(broad / mean, 0.5, 1.6) ** 0.3;
  };
}
