import type { CV } from "@techstark/opencv-js";
import { Tensor } from "onnxruntime-node";
import sharp from "sharp";
import { AppError } from "@atelier/server/platform";
import { cutLabel, grabCut } from "../raster/filters.ts";
import {
  areaOf,
  byteAt,
  doubleAt,
  type Grey,
  intAt,
  type Mask,
  maskWhere,
  resizeGrid,
  resizeMask,
  type Rgb,
} from "../raster/grid.ts";
import { components } from "../raster/shapes.ts";
import type { Runtime } from "../runtime.ts";

const sidePx = 320;
/** Of the three channels, as the network was trained. */
const means = [0.485, 0.456, 0.406] as const;
const spreads = [0.229, 0.224, 0.225] as const;

/** How much each pixel stands out, 0..255, at the size of the picture (computed at 320 px, so soft). */
export async function detectSalience(runtime: Runtime, { data, width, height }: Rgb): Promise<Grey> {
  const session = await runtime.onnx("u2netp");
  const small = await sharp(data, { raw: { width, height, channels: 3 } })
    .resize(sidePx, sidePx, { fit: "fill" })
    .raw()
    .toBuffer();
  const input = new Tensor("float32", planesOf(small), [1, 3, sidePx, sidePx]);
  // The other outputs are coarser ones, which only the training needs.
  const [inputName, outputName] = [session.inputNames[0] ?? "", session.outputNames[0] ?? ""];
  const outputs = await session.run({ [inputName]: input }, [outputName]);
  const levels = Float32Array.from((await outputs[outputName]?.getData()) as Float32Array);
  const grey = await sharp(
    Uint8ClampedArray.from(levels, (value) => value * 255),
    { raw: { width: sidePx, height: sidePx, channels: 1 } },
  )
    .resize(width, height, { fit: "fill", kernel: "cubic" })
    .toColourspace("b-w")
    .raw()
    .toBuffer();
  return { data: new Uint8Array(grey), width, height };
}

function planesOf(pixels: Uint8Array): Float32Array {
  const brightest = pixels.reduce((most, value) => Math.max(most, value), 1);
  const planes = new Float32Array(pixels.length);
  for (const channel of [0, 1, 2] as const) {
    const start = channel * sidePx * sidePx;
    for (let i = 0; i < sidePx * sidePx; i++) {
      const share = byteAt(pixels, i * 3 + channel) / brightest;
      planes[start + i] = (share - means[channel]) / spreads[channel];
    }
  }
  return planes;
}

/** Levels of the network, 0..255: above `likely` probably the subject, between `faint` and `strong` not clear. */
const likely = 127;
const faint = 40;
const strong = 215;

export interface SalienceScores {
  /** Of the picture. */
  readonly share: number;
  /** Pixels without a clear answer, in areas of the subject. */
  readonly unclear: number;
}

const minShare = 0.002;
const maxUnclear = 1;

/** The subject by the network alone. Throws `nothing_stands_out`. */
export function salientMask(cv: CV, salience: Grey): { mask: Mask; scores: SalienceScores } {
  const mask = keepLarge(
    cv,
    maskWhere(salience, (i) => byteAt(salience.data, i) > likely),
  );
  const area = areaOf(mask);
  let unclear = 0;
  for (const value of salience.data) if (value > faint && value < strong) unclear++;
  const rounded = (value: number) => Math.round(value * 1_000) / 1_000;
  const scores = {
    share: rounded(area / mask.data.length),
    unclear: rounded(unclear / Math.max(1, area)),
  };
  if (scores.share < minShare || scores.unclear > maxUnclear)
    throw new AppError("nothing_stands_out", undefined, { details: { gate: "salience", ...scores } });
  return { mask, scores };
}

/** A piece smaller than this share of the largest does not belong to the subject. */
const minShareOfLargest = 0.08;

/** Drops small pieces; a group may be several pieces. */
export function keepLarge(cv: CV, mask: Mask): Mask {
  const { labels, areas } = components(cv, mask);
  const largest = areas.slice(1).reduce((most, area) => Math.max(most, area), 0);
  return maskWhere(mask, (i) => {
    const label = intAt(labels, i);
    return label > 0 && doubleAt(areas, label) >= minShareOfLargest * largest;
  });
}

const cutSidePx = 448;
const sureFrom = 230;
const outBelow = 25;

/** Decides the pixels without a clear answer by their colour, which follows seams and patterns better than the network. */
export function cutByColor(cv: CV, picture: Rgb, salience: Grey): Mask {
  const scale = cutSidePx / Math.max(picture.width, picture.height);
  const size = {
    width: Math.max(1, Math.round(picture.width * scale)),
    height: Math.max(1, Math.round(picture.height * scale)),
  };
  const small = resizeGrid(cv, salience, size);
  const data = small.data.map((value) => {
    if (value > sureFrom) return cutLabel.foreground;
    if (value > likely) return cutLabel.maybeForeground;
    return value > outBelow ? cutLabel.maybeBackground : cutLabel.background;
  });
  const isPossible = data.includes(cutLabel.foreground) && data.includes(cutLabel.background);
  if (!isPossible) return maskWhere(salience, (i) => byteAt(salience.data, i) > likely);
  const cut = grabCut(cv, resizeGrid(cv, picture, size), { labels: { ...size, data }, iterations: 3 });
  return resizeMask(cv, keepLarge(cv, cut), picture);
}
