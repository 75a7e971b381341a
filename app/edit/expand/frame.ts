import type { Rect, Size } from "@atelier/server/retouch";
import {
  farthestPart,
  type Handle,
  lerp,
  middle,
  type Move,
  ratioOf,
  type Shape,
  sizeInRatio,
} from "../frame/rect.ts";

export const sides = ["left", "top", "right", "bottom"] as const;
export type Side = (typeof sides)[number];

/** By how many whole px each side of a picture grows. */
export type Margins = Readonly<Record<Side, number>>;

/** A frame around a picture; plain values. */
export interface Expansion extends Margins, Shape {}

/** What the expand mode was set to. */
export interface ExpandSettings extends Expansion {
  readonly prompt: string;
}

export const noExpansion: Expansion = {
  left: 0,
  top: 0,
  right: 0,
  bottom: 0,
  ratio: "free",
  isTall: false,
};

/** How far a picture may grow. */
export interface Limits {
  /** On one side, in px. */
  readonly sidePx: number;
  /** Of the result. */
  readonly pixels: number;
}

/** A picture with its limits. */
export interface Ground extends Limits {
  readonly size: Size;
}

export function marginsOf({ left, top, right, bottom }: Margins): Margins {
  return { left, top, right, bottom };
}

/** The frame alone, without what else the mode was set to. */
export function expansionOf({ ratio, isTall, ...margins }: Expansion): Expansion {
  return { ratio, isTall, ...marginsOf(margins) };
}

export function grownSize({ width, height }: Size, { left, top, right, bottom }: Margins): Size {
  return { width: width + left + right, height: height + top + bottom };
}

/** The frame in px of the picture, from its corner at the top left. */
export function frameOf(size: Size, margins: Margins): Rect {
  return { left: 0 - margins.left, top: 0 - margins.top, ...grownSize(size, margins) };
}

export const isGrown = (margins: Margins): boolean => sides.some((side) => margins[side] > 0);

function pixelsOf(size: Size, margins: Margins): number {
  const { width, height } = grownSize(size, margins);
  return width * height;
}

/** The limit that margins go beyond; null when they are possible. */
export function brokenLimit(ground: Ground, margins: Margins): keyof Limits | null {
  if (pixelsOf(ground.size, margins) > ground.pixels) return "pixels";
  return sides.some((side) => margins[side] > ground.sidePx) ? "sidePx" : null;
}

/** The limit that leaves no room to grow further; null while there is some. */
export function reachedLimit(ground: Ground, margins: Margins): keyof Limits | null {
  if (sides.some((side) => margins[side] >= ground.sidePx)) return "sidePx";
  return pixelsOf(ground.size, margins) > ground.pixels * nearlyAll ? "pixels" : null;
}

/** Of the most pixels: a pull ends somewhere below, since both sides grow by whole px. */
const nearlyAll = 0.995;

const clamp = (value: number, low: number, high: number) => Math.min(high, Math.max(low, value));

interface Stretch {
  readonly before: number;
  readonly after: number;
  readonly total: number;
}

/**
 * Parts what is added in one direction between its two sides. The side that is pulled gets the difference; where neither
 * is, both keep their share.
 */
function part(
  { before, after, total }: Stretch,
  pulled: Handle["x"],
): readonly [before: number, after: number] {
  const whole = Math.round(total);
  const share = before + after > 0 ? before / (before + after) : 0.5;
  const first = { "-1": whole - Math.min(after, whole), 0: Math.round(whole * share), 1: before }[pulled];
  const kept = clamp(first, 0, whole);
  return [kept, whole - kept];
}

/** Margins that make a picture this large. */
function grownTo(
  size: Size,
  from: Margins,
  { to, handle }: { readonly to: Size; readonly handle: Handle },
): Margins {
  const across = { before: from.left, after: from.right, total: to.width - size.width };
  const down = { before: from.top, after: from.bottom, total: to.height - size.height };
  const [left, right] = part(across, handle.x);
  const [top, bottom] = part(down, handle.y);
  return { left, top, right, bottom };
}

/** The smallest size of a ratio that holds another one. */
function holding({ width, height }: Size, ratio: number): Size {
  return width / height > ratio ? { width, height: width / ratio } : { width: height * ratio, height };
}

function isWithin(held: Size, { width, height }: Size): boolean {
  return width >= held.width && height >= held.height;
}

/** The size that a pull asks for: never below the picture's, each side as far as it may grow. */
function pulledSize({ size, sidePx }: Ground, from: Margins, { handle, by }: Pull): Size {
  const side = (pulled: Handle["x"], [before, after]: readonly [number, number], px: number) => {
    if (pulled === 0) return before + after;
    return pulled < 0 ? clamp(before - px, 0, sidePx) + after : before + clamp(after + px, 0, sidePx);
  };
  return {
    width: size.width + side(handle.x, [from.left, from.right], by.x),
    height: size.height + side(handle.y, [from.top, from.bottom], by.y),
  };
}

/** Within the limits; where the margins before were not, at least no further beyond them. */
function isAllowed(ground: Ground, margins: Margins, from: Margins): boolean {
  if (brokenLimit(ground, margins) === null) return true;
  const isNoLonger = sides.every((side) => margins[side] <= Math.max(from[side], ground.sidePx));
  const most = Math.max(pixelsOf(ground.size, from), ground.pixels);
  return isNoLonger && pixelsOf(ground.size, margins) <= most;
}

interface Pull {
  readonly handle: Handle;
  readonly by: Move;
}

/** Pulls a handle of the frame, as far as the limits go; the picture stays inside. */
function resized(ground: Ground, from: Expansion, pull: Pull): Expansion {
  const { size } = ground;
  const ratio = ratioOf(size, from);
  const free = pulledSize(ground, from, pull);
  const shaped = ratio === null ? free : sizeInRatio(free, pull.handle, ratio);
  const to = ratio === null || isWithin(size, shaped) ? shaped : holding(size, ratio);
  const begun = grownSize(size, from);
  const at = (share: number) => ({
    width: lerp(begun.width, to.width, share),
    height: lerp(begun.height, to.height, share),
  });
  const grown = (share: number) => grownTo(size, from, { to: at(share), handle: pull.handle });
  const share = farthestPart((one) => isAllowed(ground, grown(one), from));
  return { ...from, ...grown(share) };
}

/** Moves the frame around the picture, which stays inside of it. */
function moved({ sidePx }: Ground, from: Expansion, by: Move): Expansion {
  const shift = (before: number, after: number, px: number) => {
    const total = before + after;
    const first = clamp(Math.round(before - px), Math.max(0, total - sidePx), Math.min(total, sidePx));
    return [first, total - first] as const;
  };
  const [left, right] = shift(from.left, from.right, by.x);
  const [top, bottom] = shift(from.top, from.bottom, by.y);
  return { ...from, left, top, right, bottom };
}

/** Pulls a handle of the frame, or moves it by `middle`. */
export function pulledOut(ground: Ground, from: Expansion, { handle, by }: Pull): Expansion {
  return handle === middle ? moved(ground, from, by) : resized(ground, from, { handle, by });
}

/** The least that gives the picture another shape, parted as it was before; it may go beyond the limits. */
export function reshaped(size: Size, from: Expansion, shape: Shape): Expansion {
  const ratio = ratioOf(size, shape);
  if (ratio === null) return { ...from, ...shape };
  return { ...from, ...shape, ...grownTo(size, from, { to: holding(size, ratio), handle: middle }) };
}

/** One side as it was typed; the shape is free from then on. */
export function withSide(from: Expansion, side: Side, px: number): Expansion {
  return { ...from, ratio: "free", [side]: Math.max(0, Math.round(px)) };
}

/** The settings by which a job expanded. */
export function fromParams(params: Readonly<Record<string, unknown>>): Expansion {
  const px = (side: Side) => (typeof params[side] === "number" ? params[side] : 0);
  return { ...noExpansion, left: px("left"), top: px("top"), right: px("right"), bottom: px("bottom") };
}
