import { type Band, byteAt, clamp, floatAt, type Rgba } from "./picture.ts";

export const adjustments = ["light", "contrast", "saturation", "temperature", "sharpness"] as const;
type Adjustment = (typeof adjustments)[number];
/** Each from -100 to 100; 0 changes nothing. */
export type Adjustments = Readonly<Record<Adjustment, number>>;

export const adjustmentLimit = 100;

export const neutral: Adjustments = { light: 0, contrast: 0, saturation: 0, temperature: 0, sharpness: 0 };

export function isNeutral(wanted: Adjustments): boolean {
  return adjustments.every((name) => wanted[name] === 0);
}

/** Adjustments as `adjustBand` needs them: made once for a picture. */
export interface AdjustPlan {
  /** What each value of red, green and blue becomes by light, temperature and contrast, 0..255 unrounded. */
  readonly curves: readonly [Float32Array, Float32Array, Float32Array];
  /** Factor of the distance to grey. */
  readonly saturation: number;
  /** Share of the fine detail that is added. */
  readonly sharpness: number;
}

/**
 * Plans adjustments. `scale` is the size at which the picture is shown: in a smaller copy fine detail is mostly gone, so
 * sharpness changes it by the square of the scale, as it would the full picture seen at that size.
 */
export function planAdjust(wanted: Adjustments, scale = 1): AdjustPlan {
  const { light, contrast, saturation, temperature, sharpness } = wanted;
  const warmth = (temperature / adjustmentLimit) * warmthStops;
  const gains = [2 ** warmth, 1, 2 ** -warmth] as const;
  // White keeps its brightness.
  const whole = lumaOf(...gains);
  const exposure = 2 ** ((light / adjustmentLimit) * lightStops);
  const curveOf = (gain: number) => makeCurve(exposure, gain / whole, contrast / adjustmentLimit);
  const detail = sharpness < 0 ? sharpness : sharpness * mostDetail;
  return {
    curves: [curveOf(gains[0]), curveOf(gains[1]), curveOf(gains[2])],
    saturation: 1 + saturation / adjustmentLimit,
    sharpness: (detail / adjustmentLimit) * Math.min(1, scale) ** 2,
  };
}

/** Stops between neutral and the end of the range: of the shadows, and of red against green. */
const lightStops = 2;
const warmthStops = 0.4;
/** How many times its detail the sharpest picture gets on top. */
const mostDetail = 1.5;

function makeCurve(exposure: number, gain: number, contrast: number): Float32Array {
  return Float32Array.from({ length: 256 }, (_, level) => {
    const bright = exposed(toLinear(level / 255), exposure);
    return contrasted(toEncoded(clamp(bright * gain, 0, 1)), contrast) * 255;
  });
}

/** Multiplies shadows by the exposure and leaves black and white where they are, so that nothing is clipped. */
const exposed = (linear: number, exposure: number) => (exposure * linear) / (1 + (exposure - 1) * linear);

const toLinear = (value: number) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
const toEncoded = (value: number) =>
  value <= 0.0031308 ? value * 12.92 : 1.055 * value ** (1 / 2.4) - 0.055;

/** Share of the contrast that is left at the lower end. */
const leastContrast = 0.3;

/** An S around middle grey that keeps black and white; less contrast is a flatter line through middle grey. */
function contrasted(value: number, contrast: number): number {
  if (contrast <= 0) return 0.5 + (value - 0.5) * (1 + contrast * (1 - leastContrast));
  const steepness = 2 ** contrast;
  return value < 0.5 ? 0.5 * (2 * value) ** steepness : 1 - 0.5 * (2 - 2 * value) ** steepness;
}

const lumaOf = (red: number, green: number, blue: number) => 0.2126 * red + 0.7152 * green + 0.0722 * blue;

/** The adjusted pixels of a band as RGBA; reads two more rows above and below. The picture stays as it is. */
export function adjustBand(picture: Rgba, plan: AdjustPlan, band: Band): Uint8ClampedArray<ArrayBuffer> {
  const { data, width } = picture;
  const [reds, greens, blues] = plan.curves;
  const made = new Uint8ClampedArray(band.rows * width * 4);
  const detail = plan.sharpness === 0 ? null : detailOf(picture, plan, band);
  const { saturation, sharpness } = plan;
  const from = band.top * width * 4;
  for (let at = 0; at < made.length; at += 4) {
    const red = floatAt(reds, byteAt(data, from + at));
    const green = floatAt(greens, byteAt(data, from + at + 1));
    const blue = floatAt(blues, byteAt(data, from + at + 2));
    const grey = lumaOf(red, green, blue);
    const added = detail === null ? grey : grey + sharpness * floatAt(detail, at >> 2);
    made[at] = added + (red - grey) * saturation;
    made[at + 1] = added + (green - grey) * saturation;
    made[at + 2] = added + (blue - grey) * saturation;
    made[at + 3] = byteAt(data, from + at + 3);
  }
  return made;
}

/** Reach of the blur whose difference is the detail; its weights are 1 4 6 4 1. */
const reachPx = 2;

/** How far the brightness of each pixel of a band is from that around it; transparent pixels do not count. */
function detailOf(picture: Rgba, plan: AdjustPlan, { top, rows }: Band): Float32Array {
  const { width } = picture;
  const { luma, weights } = planesOf(picture, plan, { top: top - reachPx, rows: rows + 2 * reachPx });
  const detail = new Float32Array(rows * width);
  for (let row = 0; row < rows; row += 1) {
    const blurred = blurRow(luma, width, row);
    const shares = weights === null ? null : blurRow(weights, width, row);
    for (let x = 0; x < width; x += 1) {
      const at = (row + reachPx) * width + x;
      const own = weights === null ? 1 : floatAt(weights, at);
      if (own === 0) continue;
      const share = shares === null ? 1 : floatAt(shares, x);
      detail[row * width + x] = floatAt(luma, at) / own - floatAt(blurred, x) / share;
    }
  }
  return detail;
}

interface Planes {
  /** Brightness, times the weight where there are weights; rows beyond the picture repeat its edge. */
  readonly luma: Float32Array;
  /** Alpha from 0 to 1; null where all is opaque. */
  readonly weights: Float32Array | null;
}

function planesOf({ data, width, height }: Rgba, { curves }: AdjustPlan, { top, rows }: Band): Planes {
  const [reds, greens, blues] = curves;
  const luma = new Float32Array(rows * width);
  const weights = new Float32Array(rows * width);
  let isOpaque = true;
  for (let row = 0; row < rows; row += 1) {
    const from = clamp(top + row, 0, height - 1) * width * 4;
    for (let x = 0; x < width; x += 1) {
      const at = from + x * 4;
      const alpha = byteAt(data, at + 3);
      if (alpha < 255) isOpaque = false;
      const grey = lumaOf(
        floatAt(reds, byteAt(data, at)),
        floatAt(greens, byteAt(data, at + 1)),
        floatAt(blues, byteAt(data, at + 2)),
      );
      luma[row * width + x] = (grey * alpha) / 255;
      weights[row * width + x] = alpha / 255;
    }
  }
  return { luma, weights: isOpaque ? null : weights };
}

/** One row of a plane, blurred over the rows and columns around it; `row` counts from the first that has all of them. */
function blurRow(plane: Float32Array, width: number, row: number): Float32Array {
  const down = new Float32Array(width);
  const from = row * width;
  for (let x = 0; x < width; x += 1) {
    const at = from + x;
    down[x] =
      floatAt(plane, at) +
      4 * floatAt(plane, at + width) +
      6 * floatAt(plane, at + 2 * width) +
      4 * floatAt(plane, at + 3 * width) +
      floatAt(plane, at + 4 * width);
  }
  const blurred = new Float32Array(width);
  const last = width - 1;
  for (let x = 0; x < width; x += 1) {
    const near = floatAt(down, Math.max(0, x - 1)) + floatAt(down, Math.min(last, x + 1));
    const far = floatAt(down, Math.max(0, x - 2)) + floatAt(down, Math.min(last, x + 2));
    blurred[x] = (far + 4 * near + 6 * floatAt(down, x)) / 256;
  }
  return blurred;
}
