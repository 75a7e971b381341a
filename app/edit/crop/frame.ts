import {
  isFilled,
  largestRect,
  type Pose,
  type Rect,
  type Size,
  straightenedSize,
} from "@atelier/server/retouch";
import {
  farthestPart,
  type Handle,
  lerp,
  type Move,
  ratioOf as shapeRatio,
  type Shape,
  sizeInRatio,
} from "../frame/rect.ts";

/** A frame around the middle of the picture, in px of the straightened picture; `x` and `y` are its own middle. */
interface Frame {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** What the crop mode was set to; plain values. */
export interface CropSettings extends Pose, Shape {
  /** As it was drawn last; null while it is the largest. An angle may show a smaller one. */
  readonly frame: Frame | null;
  /** Of a job whose crop is opened again: the part that it kept. `settle` makes it the frame. */
  readonly kept: Rect | null;
}

export const noCrop: CropSettings = {
  turns: 0,
  mirror: false,
  angle: 0,
  ratio: "free",
  isTall: false,
  frame: null,
  kept: null,
};

/** Width ÷ height that a frame must have; null when it is free. */
export function ratioOf({ width, height }: Size, settings: CropSettings): number | null {
  const isTurned = settings.turns % 2 === 1;
  return shapeRatio(isTurned ? { width: height, height: width } : { width, height }, settings);
}

const mixed = (from: Rect, to: Rect, part: number): Rect => ({
  left: lerp(from.left, to.left, part),
  top: lerp(from.top, to.top, part),
  width: lerp(from.width, to.width, part),
  height: lerp(from.height, to.height, part),
});

/**
 * The way from a rectangle without an empty corner towards another one, as far as it stays so. All such rectangles are a
 * convex set, so the first end of the way is its only one.
 */
function farthest(size: Size, pose: Pose, { from, to }: { readonly from: Rect; readonly to: Rect }): Rect {
  const part = farthestPart((share) => isFilled(size, pose, share === 1 ? to : mixed(from, to, share)));
  return part === 1 ? to : mixed(from, to, part);
}

/** The part of the straightened picture that is kept: the frame, or as much of it as has no empty corner. */
export function rectOf(size: Size, settings: CropSettings): Rect {
  const largest = largestRect(size, settings, ratioOf(size, settings) ?? undefined);
  const { frame } = settings;
  if (frame === null) return largest;
  const canvas = straightenedSize(size, settings);
  const drawn = {
    left: canvas.width / 2 + frame.x - frame.width / 2,
    top: canvas.height / 2 + frame.y - frame.height / 2,
    width: frame.width,
    height: frame.height,
  };
  // Towards a small part in the middle, which is filled at every angle, the frame keeps its shape.
  const small = shapedLike(drawn, largest);
  return farthest(size, settings, { from: small, to: drawn });
}

/** A rectangle of another one's shape in the middle of a larger one. */
function shapedLike(shape: Size, { left, top, width, height }: Rect): Rect {
  const scale = Math.min(width / shape.width, height / shape.height) * 0.5;
  const size = { width: shape.width * scale, height: shape.height * scale };
  return { left: left + (width - size.width) / 2, top: top + (height - size.height) / 2, ...size };
}

/** The settings with a rectangle of the straightened picture as their frame. */
function withRect(size: Size, settings: CropSettings, rect: Rect): CropSettings {
  const canvas = straightenedSize(size, settings);
  return {
    ...settings,
    kept: null,
    frame: {
      x: rect.left + rect.width / 2 - canvas.width / 2,
      y: rect.top + rect.height / 2 - canvas.height / 2,
      width: rect.width,
      height: rect.height,
    },
  };
}

/** Moves a frame, along each side as far as there is picture. */
export function moved(size: Size, settings: CropSettings, { x, y }: Move): CropSettings {
  const from = rectOf(size, settings);
  const aside = farthest(size, settings, { from, to: { ...from, left: from.left + x } });
  const both = farthest(size, settings, { from: aside, to: { ...aside, top: aside.top + y } });
  return withRect(size, settings, both);
}

const leastPx = 16;

function pulled(rect: Rect, handle: Handle, by: Move): Rect {
  const width = Math.max(leastPx, rect.width + handle.x * by.x);
  const height = Math.max(leastPx, rect.height + handle.y * by.y);
  return {
    left: handle.x < 0 ? rect.left + rect.width - width : rect.left,
    top: handle.y < 0 ? rect.top + rect.height - height : rect.top,
    width,
    height,
  };
}

/** Gives a pulled rectangle its ratio: the opposite corner stays, of a side the middle. */
function inRatio(rect: Rect, handle: Handle, ratio: number): Rect {
  const { width, height } = sizeInRatio(rect, handle, ratio);
  const across = { "-1": rect.width - width, 0: (rect.width - width) / 2, 1: 0 }[handle.x];
  const along = { "-1": rect.height - height, 0: (rect.height - height) / 2, 1: 0 }[handle.y];
  return { left: rect.left + across, top: rect.top + along, width, height };
}

/** Pulls a handle of the frame, as far as there is picture and not below a few px. */
export function resized(size: Size, settings: CropSettings, handle: Handle, by: Move): CropSettings {
  const from = rectOf(size, settings);
  const ratio = ratioOf(size, settings);
  const free = pulled(from, handle, by);
  const to = ratio === null ? free : inRatio(free, handle, ratio);
  return withRect(size, settings, farthest(size, settings, { from, to }));
}

/** Another ratio: a frame that was drawn keeps its middle and, where there is room, its area. */
export function reshaped(size: Size, before: CropSettings, shape: Shape): CropSettings {
  const settings = { ...before, ...shape };
  const ratio = ratioOf(size, settings);
  const { frame } = settings;
  if (frame === null || ratio === null) return settings;
  const area = frame.width * frame.height;
  const width = Math.sqrt(area * ratio);
  return { ...settings, frame: { ...frame, width, height: width / ratio } };
}

/** A quarter turn clockwise of what is seen, frame and all. */
export function turned(settings: CropSettings): CropSettings {
  const { frame, turns, mirror, isTall } = settings;
  return {
    ...settings,
    turns: (turns + (mirror ? 3 : 1)) % 4,
    isTall: !isTall,
    frame: frame && { x: -frame.y, y: frame.x, width: frame.height, height: frame.width },
  };
}

/** Swaps left and right of what is seen. */
export function mirrored(settings: CropSettings): CropSettings {
  const { frame, mirror, angle } = settings;
  // No -0, which is another value to those who compare.
  return {
    ...settings,
    mirror: !mirror,
    angle: angle === 0 ? 0 : -angle,
    frame: frame && { ...frame, x: -frame.x },
  };
}

/** The crop as a job takes it: whole px within the straightened picture. */
export function toParams(size: Size, settings: CropSettings) {
  const { turns, mirror, angle } = settings;
  const canvas = straightenedSize(size, settings);
  const rect = rectOf(size, settings);
  const [left, width] = wholePx(rect.left, rect.width, canvas.width);
  const [top, height] = wholePx(rect.top, rect.height, canvas.height);
  return { turns, mirror, angle, rect: { left, top, width, height } };
}

/** The whole px of a stretch: rounded inwards, so that no corner gets beyond the picture. */
function wholePx(start: number, length: number, most: number): readonly [start: number, length: number] {
  const first = Math.min(most - 1, Math.max(0, Math.ceil(start - 0.01)));
  const end = Math.min(most, Math.max(first + 1, Math.floor(start + length + 0.01)));
  return [first, end - first];
}

/** Whether a crop would change the picture. */
export function changesPicture(size: Size, settings: CropSettings): boolean {
  const { turns, mirror, angle, rect } = toParams(size, settings);
  return turns !== 0 || mirror || angle !== 0 || rect.width < size.width || rect.height < size.height;
}

/** The settings by which a job cropped; the size of its picture need not be known yet. */
export function fromParams(params: Readonly<Record<string, unknown>>): CropSettings {
  // Safe cast: the params of a stored job were parsed when it was submitted.
  const {
    turns = 0,
    mirror = false,
    angle = 0,
    rect = null,
  } = params as Partial<ReturnType<typeof toParams>>;
  return { ...noCrop, turns, mirror, angle, kept: rect };
}

/** Settings as all other functions take them, now that the size of the picture is known. */
export function settle(size: Size, settings: CropSettings): CropSettings {
  return settings.kept === null ? settings : withRect(size, settings, settings.kept);
}
