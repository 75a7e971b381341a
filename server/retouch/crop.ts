import { type Band, byteAt, clamp, type Rgba, type Size } from "./picture.ts";

export interface Rect extends Size {
  readonly left: number;
  readonly top: number;
}

/** How a picture is set upright before a part is cut out: turned, then mirrored, then straightened. */
export interface Pose {
  /** Quarter turns clockwise, 0 to 3. */
  readonly turns: number;
  /** Left and right swapped. */
  readonly mirror: boolean;
  /** Degrees clockwise, -45 to 45, around the middle. */
  readonly angle: number;
}

export interface Crop extends Pose {
  /** In whole px of the straightened picture (`straightenedSize`). Default: the largest of the picture's own shape. */
  readonly rect?: Rect | undefined;
}

export const mostAngle = 45;

/** Size after the quarter turns. */
function turnedSize({ width, height }: Size, { turns }: Pick<Pose, "turns">): Size {
  return turns % 2 === 0 ? { width, height } : { width: height, height: width };
}

const radiansOf = (degrees: number) => (degrees * Math.PI) / 180;

/** Size of the straightened picture: the smallest upright rectangle that holds all of it; its corners are empty. */
export function straightenedSize(source: Size, pose: Pick<Pose, "turns" | "angle">): Size {
  const { width, height } = turnedSize(source, pose);
  const sin = Math.abs(Math.sin(radiansOf(pose.angle)));
  const cos = Math.cos(radiansOf(pose.angle));
  return { width: Math.round(width * cos + height * sin), height: Math.round(width * sin + height * cos) };
}

/** The largest part of the straightened picture without an empty corner, in its middle, of this ratio (width ÷ height). */
export function largestRect(source: Size, pose: Pick<Pose, "turns" | "angle">, ratio?: number): Rect {
  const { width, height } = turnedSize(source, pose);
  const sin = Math.abs(Math.sin(radiansOf(pose.angle)));
  const cos = Math.cos(radiansOf(pose.angle));
  const shape = ratio ?? width / height;
  const high = Math.min(width / (shape * cos + sin), height / (shape * sin + cos));
  const canvas = straightenedSize(source, pose);
  const size = {
    width: clamp(Math.round(high * shape), 1, canvas.width),
    height: clamp(Math.round(high), 1, canvas.height),
  };
  return {
    left: Math.floor((canvas.width - size.width) / 2),
    top: Math.floor((canvas.height - size.height) / 2),
    ...size,
  };
}

/** The part that a crop cuts out. */
export function rectOf(source: Size, crop: Crop): Rect {
  return crop.rect ?? largestRect(source, crop);
}

/** Rounding may put the edge of a rectangle this far beyond the picture; there its outermost pixels repeat. */
const slackPx = 1;

/** A point of the straightened picture as a point of the turned and mirrored one, both from the corner at the top left. */
function toTurned(source: Size, pose: Pose, at: { readonly x: number; readonly y: number }) {
  const canvas = straightenedSize(source, pose);
  const turned = turnedSize(source, pose);
  const [x, y] = [at.x - canvas.width / 2, at.y - canvas.height / 2];
  const [sin, cos] = [Math.sin(radiansOf(pose.angle)), Math.cos(radiansOf(pose.angle))];
  return { x: x * cos + y * sin + turned.width / 2, y: y * cos - x * sin + turned.height / 2 };
}

/** Whether a part of the straightened picture holds no empty corner, but for what rounding makes of an angle. */
export function isFilled(source: Size, pose: Pose, { left, top, width, height }: Rect): boolean {
  const turned = turnedSize(source, pose);
  const slack = pose.angle === 0 ? 1e-6 : slackPx;
  const corners = [left, left + width].flatMap((x) => [top, top + height].map((y) => ({ x, y })));
  return corners.every((corner) => {
    const { x, y } = toTurned(source, pose, corner);
    return x >= -slack && y >= -slack && x <= turned.width + slack && y <= turned.height + slack;
  });
}

/** Where the pixels of a turned and mirrored picture are in its data: `start + x * right + y * down`. */
interface Layout {
  readonly start: number;
  readonly right: number;
  readonly down: number;
}

function layoutOf({ width, height }: Size, { turns, mirror }: Pose): Layout {
  const layouts: readonly Layout[] = [
    { start: 0, right: 1, down: width },
    { start: (height - 1) * width, right: -width, down: 1 },
    { start: height * width - 1, right: -1, down: -width },
    { start: width - 1, right: width, down: -1 },
  ];
  const { start, right, down } = layouts[turns % 4] ?? { start: 0, right: 1, down: width };
  if (!mirror) return { start, right, down };
  const across = turns % 2 === 0 ? width : height;
  return { start: start + (across - 1) * right, right: -right, down };
}

/**
 * Rows of the cut-out part as RGBA. Without an angle they hold exactly the pixels of the picture; else each is
 * interpolated (Catmull-Rom). What lies beyond the picture is transparent and white.
 */
export function cropBand(picture: Rgba, crop: Crop, band: Band): Uint8ClampedArray<ArrayBuffer> {
  const rect = rectOf(picture, crop);
  const made = new Uint8ClampedArray(band.rows * rect.width * 4);
  const turned = turnedSize(picture, crop);
  const view: View = { data: picture.data, ...turned, ...layoutOf(picture, crop) };
  const first = toTurned(picture, crop, { x: rect.left + 0.5, y: rect.top + band.top + 0.5 });
  const [sin, cos] = [Math.sin(radiansOf(crop.angle)), Math.cos(radiansOf(crop.angle))];
  const put = crop.angle === 0 ? putPixel : putBetween;
  for (let row = 0; row < band.rows; row += 1) {
    for (let column = 0; column < rect.width; column += 1) {
      const x = first.x + column * cos + row * sin - 0.5;
      const y = first.y + row * cos - column * sin - 0.5;
      put(view, { x, y }, made, (row * rect.width + column) * 4);
    }
  }
  return made;
}

interface View extends Size, Layout {
  readonly data: Rgba["data"];
}

interface Point {
  readonly x: number;
  readonly y: number;
}

const offsetOf = ({ start, right, down, width, height }: View, x: number, y: number) =>
  4 * (start + clamp(x, 0, width - 1) * right + clamp(y, 0, height - 1) * down);

function putPixel(view: View, { x, y }: Point, made: Uint8ClampedArray, to: number): void {
  const from = offsetOf(view, Math.round(x), Math.round(y));
  for (let channel = 0; channel < 4; channel += 1) made[to + channel] = byteAt(view.data, from + channel);
}

/** The weights of the four pixels around a point that lies `part` behind the second. */
function weightsOf(part: number): readonly [number, number, number, number] {
  const [square, cube] = [part * part, part * part * part];
  return [
    (-cube + 2 * square - part) / 2,
    (3 * cube - 5 * square + 2) / 2,
    (-3 * cube + 4 * square + part) / 2,
    (cube - square) / 2,
  ];
}

function putBetween(view: View, { x, y }: Point, made: Uint8ClampedArray, to: number): void {
  const reach = slackPx + 0.5;
  if (x < -reach || y < -reach || x > view.width - 1 + reach || y > view.height - 1 + reach) {
    made.set([255, 255, 255, 0], to);
    return;
  }
  const [left, top] = [Math.floor(x), Math.floor(y)];
  const [across, along] = [weightsOf(x - left), weightsOf(y - top)];
  let [red, green, blue, alpha] = [0, 0, 0, 0];
  for (let row = 0; row < 4; row += 1) {
    for (let column = 0; column < 4; column += 1) {
      const from = offsetOf(view, left + column - 1, top + row - 1);
      const own = byteAt(view.data, from + 3);
      const weight = (across[column] ?? 0) * (along[row] ?? 0) * own;
      red += weight * byteAt(view.data, from);
      green += weight * byteAt(view.data, from + 1);
      blue += weight * byteAt(view.data, from + 2);
      alpha += weight;
    }
  }
  const isClear = alpha < 0.5;
  made[to] = isClear ? 255 : red / alpha;
  made[to + 1] = isClear ? 255 : green / alpha;
  made[to + 2] = isClear ? 255 : blue / alpha;
  made[to + 3] = alpha;
}
