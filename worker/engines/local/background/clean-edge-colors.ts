import { byteAt } from "../raster/cells.ts";
import { clamp } from "../raster/clamp.ts";
import { maskWhere, planeOf, type Grey, type Mask, type Rgb } from "../raster/grid.ts";
import { maskedBlur } from "../raster/masked-blur.ts";
import { rgbPlanes } from "../raster/rgb-planes.ts";
import { sampleLinear } from "../raster/sample-linear.ts";

const spreadShare = 0.012;
/** A share below this says too little about the colour: the colour of the person nearby is taken. */
const leastShare = 0.25;

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
  const persons = maskedBlur(colors, weights, radius);
  const grounds = maskedBlur(colors, outside, radius);
  for (const channel of [0, 1, 2] as const) {
    const [person, ground] = [persons[channel], grounds[channel]];
    for (let i = 0; i < alpha.data.length; i++) {
      const share = byteAt(alpha.data, i) / 255;
      if (share === 0 || share === 1) continue;
      const x = (i % picture.width) * scale;
      const y = Math.floor(i / picture.width) * scale;
      const mixed = byteAt(picture.data, i * 3 + channel);
      const near = sampleLinear(person, x, y);
      const own = (mixed - (1 - share) * sampleLinear(ground, x, y)) / Math.max(share, leastShare);
      const trust = clamp((share - leastShare) / (1 - leastShare), 0, 1);
      picture.data[i * 3 + channel] = Math.round(clamp(near + (own - near) * trust, 0, 255));
    }
  }
}
