import { createHash } from "node:crypto";
import type { Frame } from "./frame.ts";
import { resize, type Size } from "./resize.ts";

const gridPx = 6;

/** A soft many-coloured picture that depends on the text alone. */
export function seededPicture(text: string, size: Size): Promise<Frame> {
  const bytesNeeded = gridPx * gridPx * 3;
  const data = createHash("shake256", { outputLength: bytesNeeded }).update(text).digest();
  return resize({ widthPx: gridPx, heightPx: gridPx, channels: 3, data }, size);
}
