import type { CV } from "@techstark/opencv-js";
import { byteAt, floatAt } from "../raster/cells.ts";
import { clamp } from "../raster/clamp.ts";
import { planeOf, type Grey, type Mask, type Rgb } from "../raster/grid.ts";
import { guidedAlpha } from "../raster/guided-alpha.ts";
import { morph } from "../raster/filters.ts";
import { lumaPlane } from "../raster/rgb-planes.ts";
import { sampleLinear } from "../raster/sample-linear.ts";
import { resizeNearest } from "../raster/resize-grid.ts";

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
