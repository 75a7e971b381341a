import { call } from "./call.ts";
import type { CallOptions, IopaintServer } from "./iopaint-server.ts";

/** No answer is longer: a large PNG of the greatest size that a result may have. */
export const maxPictureBytes = 512 * 1024 * 1024;

export interface InpaintRequest {
  readonly image: Buffer;
  /** Grey, of the image's size; white = repaint. */
  readonly mask: Buffer;
}

/**
 * The picture with what is marked filled from its surroundings, in the image's format; for models that read no words.
 * One at a time per server: others wait in line.
 */
export function inpaint(
  server: IopaintServer,
  { image, mask }: InpaintRequest,
  options: CallOptions,
): Promise<Buffer> {
  const json = {
    image: image.toString("base64"),
    mask: mask.toString("base64"),
    hd_strategy: "Crop",
  };
  return call(server, { route: "inpaint", json, maxBytes: maxPictureBytes }, options);
}
