import { call } from "./call.ts";
import type { CallOptions, IopaintServer } from "./iopaint-server.ts";

/** No answer is longer: a large PNG of the greatest size that a result may have. */
export const maxPictureBytes = 512 * 1024 * 1024;

export interface InpaintRequest {
  readonly image: Buffer;
  /** Grey, of the image's size; white = repaint. */
  readonly mask: Buffer;
  /** Read only by models that need words. */
  readonly prompt?: string;
  readonly negativePrompt?: string;
  readonly seed?: number;
}

/** The picture with what is marked painted over, in the image's format. One at a time per server: others wait in line. */
export function inpaint(
  server: IopaintServer,
  { image, mask, prompt = "", negativePrompt = "", seed = -1 }: InpaintRequest,
  options: CallOptions,
): Promise<Buffer> {
  const json = {
    image: image.toString("base64"),
    mask: mask.toString("base64"),
    prompt,
    negative_prompt: negativePrompt,
    sd_seed: seed,
    hd_strategy: "Crop",
    sd_keep_unmasked_area: true,
  };
  return call(server, { route: "inpaint", json, maxBytes: maxPictureBytes }, options);
}
