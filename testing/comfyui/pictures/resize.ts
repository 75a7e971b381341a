import type { KernelEnum } from "sharp";
import { pipe, toFrame } from "./codec.ts";
import type { Frame } from "../pictures.ts";

const kernels: Readonly<Record<string, keyof KernelEnum>> = {
  "nearest-exact": "nearest",
  bilinear: "linear",
  area: "linear",
  bicubic: "cubic",
  bislerp: "cubic",
  lanczos: "lanczos3",
};

export interface Size {
  readonly widthPx: number;
  readonly heightPx: number;
}

/** Resizes to exactly this size; "center" cuts to the new ratio first. */
export async function resize(
  frame: Frame,
  size: Size,
  how: { method?: string; crop?: string } = {},
): Promise<Frame> {
  if (frame.widthPx === size.widthPx && frame.heightPx === size.heightPx) return frame;
  const kernel = kernels[how.method ?? "bicubic"] ?? "cubic";
  const fit = how.crop === "center" ? "cover" : "fill";
  const pipeline = pipe(frame).resize(size.widthPx, size.heightPx, { kernel, fit });
  return toFrame(frame.channels === 1 ? pipeline.toColourspace("b-w") : pipeline);
}

/** The largest size up to a multiple, cut from the middle as VAE encoding does. */
export async function cropToMultiple(frame: Frame, multiplePx: number): Promise<Frame> {
  const width = Math.max(multiplePx, frame.widthPx - (frame.widthPx % multiplePx));
  const height = Math.max(multiplePx, frame.heightPx - (frame.heightPx % multiplePx));
  if (width >= frame.widthPx && height >= frame.heightPx) return frame;
  const left = Math.trunc((frame.widthPx % multiplePx) / 2);
  const top = Math.trunc((frame.heightPx % multiplePx) / 2);
  const pipeline = pipe(frame).extract({ left, top, width, height });
  return toFrame(frame.channels === 1 ? pipeline.toColourspace("b-w") : pipeline);
}
