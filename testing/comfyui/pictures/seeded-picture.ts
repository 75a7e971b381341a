import { createHash } from "node:crypto";
import type { Frame } from "../pictures.ts";
import { resize, type Size } from "./resize.ts";

const gridPx = 6;

/** A soft many-coloured picture that depends on the text alone. */
export function seededPicture(text: string, size: Size): Promise<Frame> {
  return resize(noiseFrame(text, { widthPx: gridPx, heightPx: gridPx }), size);
}

/** A colour of its own for each pixel; all depend on the text alone. */
export function noiseFrame(text: string, { widthPx, heightPx }: Size): Frame {
  const bytesNeeded = widthPx * heightPx * 3;
  const data = createHash("shake256", { outputLength: bytesNeeded }).update(text).digest();
  return { widthPx, heightPx, channels: 3, data };
}
