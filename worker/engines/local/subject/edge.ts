import type { CV } from "@techstark/opencv-js";
import { guidedAlpha, maskedBlur, morph } from "../raster/filters.ts";
import {
  byteAt,
  clamp,
  floatAt,
  type Grey,
  lumaPlane,
  type Mask,
  maskWhere,
  planeOf,
  resizeNearest,
  type Rgb,
  rgbPlanes,
  sampleLinear,
} from "../raster/grid.ts";

const spreadShare = 0.012;
/** Below this share the colour is too uncertain, and the colour of the subject nearby is used. */
const minShare = 0.25;

/** Takes the background's colour out of half-transparent pixels of `picture`, in place; `work` is its smaller copy. */
export function cleanEdgeColors(
  picture: Rgb,
  alpha: Grey,
  { work, matte }: { work: Rgb; matte: Mask },
): void {
  const radius = Math.max(2, Math.round(spreadShare * Math.max(work.width, work.height)));
  const weights = planeOf(matte);
  const outside = planeOf(maskWhere(matte, (i) => !byteAt(matte.data, i)));
  const scale = work.width / picture.width;
  const colors = rgbPlanes(work);
  const subjects = maskedBlur(colors, weights, radius);
  const grounds = maskedBlur(colors, outside, radius);
  for (const channel of [0, 1, 2] as const) {
    const [subject, ground] = [subjects[channel], grounds[channel]];
    for (let i = 0; i < alpha.data.length; i++) {
      const share = byteAt(alpha.data, i) / 255;
      if (share === 0 || share === 1) continue;
      const x = (i % picture.width) * scale;
      const y = Math.floor(i / picture.width) * scale;
      const mixed = byteAt(picture.data, i * 3 + channel);
      const near = sampleLinear(subject, x, y);
      const own = (mixed - (1 - share) * sampleLinear(ground, x, y)) / Math.max(share, minShare);
      const trust = clamp((share - minShare) / (1 - minShare), 0, 1);
      picture.data[i * 3 + channel] = Math.round(clamp(near + (own - near) * trust, 0, 255));
    }
  }
}

/** Half the width of the band in which alpha is soft, as a share of the longer side. */
const bandShare = 0.008;
const softness = 2e-3;

/**
 * Turns a hard matte at working size into alpha at the size of `picture`: 0 and 255 away from the outline, and in a narrow
 * band along it what the brightness of the picture says.
 */
export function softenEdge(cv: CV, { picture, work }: { picture: Rgb; work: Rgb }, matte: Mask): Grey {
  const bandPx = Math.max(2, Math.round(bandShare * Math.max(work.width, work.height)));
  const guide = lumaPlane(work);
  const scaled = { ...guide, data: guide.data.map((value) => value / 255) };
  const line = guidedAlpha(scaled, planeOf(matte), { radius: bandPx, softness });
  const inner = resizeNearest(cv, morph(cv, matte, ["erode", bandPx]), picture);
  const outer = resizeNearest(cv, morph(cv, matte, ["dilate", bandPx]), picture);
  const luma = lumaPlane(picture).data;
  const scale = work.width / picture.width;
  const alpha = new Uint8Array(luma.length);
  for (let i = 0; i < alpha.length; i++) {
    if (byteAt(inner.data, i)) alpha[i] = 255;
    if (byteAt(inner.data, i) || !byteAt(outer.data, i)) continue;
    const x = ((i % picture.width) + 0.5) * scale - 0.5;
    const y = (Math.floor(i / picture.width) + 0.5) * scale - 0.5;
    const value = sampleLinear(line.slope, x, y) * (floatAt(luma, i) / 255) + sampleLinear(line.offset, x, y);
    // Steeper than the fit, which never quite reaches 0 and 1.
    alpha[i] = Math.round(clamp((value - 0.12) / 0.76, 0, 1) * 255);
  }
  return { data: alpha, width: picture.width, height: picture.height };
}
