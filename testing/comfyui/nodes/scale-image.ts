import { resize } from "../pictures/resize.ts";
import { perFrame } from "./node-call.ts";

/** ImageScale: 0 keeps the ratio. */
export const imageScale = perFrame((frame, { inputs }) => {
  const [width, height] = [inputs.number("width"), inputs.number("height")];
  if (width === 0 && height === 0) return frame;
  const widthPx = width || Math.max(1, Math.round((frame.widthPx * height) / frame.heightPx));
  const heightPx = height || Math.max(1, Math.round((frame.heightPx * width) / frame.widthPx));
  const how = { method: inputs.text("upscale_method"), crop: inputs.text("crop") };
  return resize(frame, { widthPx, heightPx }, how);
});

/** ImageScaleBy. */
export const imageScaleBy = perFrame((frame, { inputs }) => {
  const factor = inputs.number("scale_by");
  const widthPx = Math.max(1, Math.round(frame.widthPx * factor));
  const heightPx = Math.max(1, Math.round(frame.heightPx * factor));
  return resize(frame, { widthPx, heightPx }, { method: inputs.text("upscale_method") });
});

const megapixel = 1024 * 1024;

/** ImageScaleToTotalPixels: sizes are multiples of `resolution_steps`. */
export const imageScaleToTotalPixels = perFrame((frame, { inputs }) => {
  const steps = inputs.number("resolution_steps");
  const factor = Math.sqrt((inputs.number("megapixels") * megapixel) / (frame.widthPx * frame.heightPx));
  const side = (px: number) => Math.max(steps, Math.round((px * factor) / steps) * steps);
  const size = { widthPx: side(frame.widthPx), heightPx: side(frame.heightPx) };
  return resize(frame, size, { method: inputs.text("upscale_method") });
});

/** The sizes that FLUX.1 Kontext was trained on. */
const kontextSizes = [
  [672, 1568],
  [688, 1504],
  [720, 1456],
  [752, 1392],
  [800, 1328],
  [832, 1248],
  [880, 1184],
  [944, 1104],
  [1024, 1024],
  [1104, 944],
  [1184, 880],
  [1248, 832],
  [1328, 800],
  [1392, 752],
  [1456, 720],
  [1504, 688],
  [1568, 672],
] as const;

/** FluxKontextImageScale: the trained size whose ratio is nearest. */
export const fluxKontextImageScale = perFrame((frame) => {
  const ratio = frame.widthPx / frame.heightPx;
  const distance = ([width, height]: readonly [number, number]) => Math.abs(ratio - width / height);
  const [best = [1024, 1024] as const] = kontextSizes.toSorted((a, b) => distance(a) - distance(b));
  return resize(frame, { widthPx: best[0], heightPx: best[1] }, { method: "lanczos", crop: "center" });
});
