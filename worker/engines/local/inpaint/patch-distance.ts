import { byteAt, floatAt } from "../raster/cells.ts";
import { patchRadius, type Level } from "./level.ts";

/** Guessed pixels count less than known ones. */
const guessWeight = 0.6;
const giveUpAbove = 60;
export const tooFar = 1e9;

/** Weighted mean squared difference of the patches around `target` and `source`; stops early once worse than `best`. */
export type PatchDistance = (target: number, source: number, best: number) => number;

export function createPatchDistance({ image, mask, width, height }: Level): PatchDistance {
  return (target, source, best) => {
    const x = target % width;
    const y = (target / width) | 0;
    const left = Math.max(-patchRadius, -x);
    const right = Math.min(patchRadius, width - 1 - x);
    const top = Math.max(-patchRadius, -y);
    const bottom = Math.min(patchRadius, height - 1 - y);
    const limit = best * giveUpAbove;
    let sum = 0;
    let weights = 0;
    for (let dy = top; dy <= bottom; dy++) {
      const row = target + dy * width;
      let b = (source + dy * width + left) * 3;
      for (let pixel = row + left; pixel <= row + right; pixel++, b += 3) {
        const a = pixel * 3;
        const red = floatAt(image, a) - floatAt(image, b);
        const green = floatAt(image, a + 1) - floatAt(image, b + 1);
        const blue = floatAt(image, a + 2) - floatAt(image, b + 2);
        const weight = byteAt(mask, pixel) ? guessWeight : 1;
        sum += weight * (red * red + green * green + blue * blue);
        weights += weight;
      }
      if (sum > limit) return tooFar;
    }
    return sum / weights;
  };
}
