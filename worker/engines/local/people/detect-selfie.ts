import type { Tensor } from "@tensorflow/tfjs-core";
import sharp from "sharp";
import type { Grey, Rgb } from "../raster/grid.ts";
import type { Runtime } from "../runtime/create-runtime.ts";
import { tensorCore } from "../runtime.ts";

const sidePx = 256;

/** How likely each pixel is a person, 0..255, at the size of the picture (computed at 256 px, so soft). */
export async function detectSelfie(runtime: Runtime, { data, width, height }: Rgb): Promise<Grey> {
  const model = await runtime.graph("selfie");
  const input = await sharp(data, { raw: { width, height, channels: 3 } })
    .resize(sidePx, sidePx, { fit: "fill" })
    .raw()
    .toBuffer();
  const core = tensorCore();
  const floats = Float32Array.from(input, (value) => value / 255);
  const tensor = core.tensor(floats, [1, sidePx, sidePx, 3]);
  const result = model.execute(tensor) as Tensor;
  const small = Uint8ClampedArray.from(await result.data(), (value) => value * 255);
  core.dispose([tensor, result]);
  const grey = await sharp(small, { raw: { width: sidePx, height: sidePx, channels: 1 } })
    .resize(width, height, { fit: "fill", kernel: "cubic" })
    .toColourspace("b-w")
    .raw()
    .toBuffer();
  return { data: new Uint8Array(grey), width, height };
}
