import { byteAt, floatAt } from "../raster/cells.ts";
import type { Level } from "./level.ts";

/** The next coarser scale; a pixel that saw anything unknown is unknown. */
export function halveLevel(level: Level): Level {
  const width = level.width >> 1;
  const height = level.height >> 1;
  const coarse = {
    image: new Float32Array(width * height * 3),
    mask: new Uint8Array(width * height),
    width,
    height,
  };
  for (let i = 0; i < coarse.mask.length; i++) {
    const from = 2 * Math.floor(i / width) * level.width + 2 * (i % width);
    averageKnown(level, coarse, { from, to: i });
  }
  return coarse;
}

function averageKnown(fine: Level, coarse: Level, { from, to }: { from: number; to: number }): void {
  let known = 0;
  const sum = [0, 0, 0] as [number, number, number];
  for (const pixel of [from, from + 1, from + fine.width, from + fine.width + 1]) {
    if (byteAt(fine.mask, pixel)) continue;
    known++;
    sum[0] += floatAt(fine.image, pixel * 3);
    sum[1] += floatAt(fine.image, pixel * 3 + 1);
    sum[2] += floatAt(fine.image, pixel * 3 + 2);
  }
  coarse.mask[to] = known < 4 ? 1 : 0;
  if (known > 0) coarse.image.set([sum[0] / known, sum[1] / known, sum[2] / known], to * 3);
}
