import type { CV } from "@techstark/opencv-js";
import { cutLabel, grabCut } from "../raster/grab-cut.ts";
import type { Mask, Rgb, Size } from "../raster/grid.ts";
import { invert } from "../raster/invert.ts";
import { resizeGrid, resizeMask } from "../raster/resize-grid.ts";

const workSidePx = 384;

/** The garment on a busy ground: grabCut from a rectangle in the middle. */
export function maskByCut(cv: CV, picture: Rgb): { cloth: Mask; isGround: Mask } {
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
