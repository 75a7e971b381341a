import { boxBlur } from "../raster/box-blur.ts";
import { byteAt, floatAt } from "../raster/cells.ts";
import { clamp } from "../raster/clamp.ts";
import { emptyPlane, planeOf, type Mask, type Plane } from "../raster/grid.ts";
import { maskedBlur } from "../raster/masked-blur.ts";
import { lumaPlane, type Planes } from "../raster/rgb-planes.ts";
import type { Painted } from "./paint.ts";
import type { Scene } from "./scene.ts";

/** The garment as a layer over the photo; colours are multiplied with `alpha` already. */
export interface Overlay {
  readonly colors: Planes;
  /** 0..1, exactly 0 where the photo stays as it is. */
  readonly alpha: Plane;
}

const leastAlpha = 0.012;

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
    if (cover + shadow < leastAlpha) continue;
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
