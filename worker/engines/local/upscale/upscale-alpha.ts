import sharp from "sharp";
import { byteAt } from "../raster/cells.ts";
import type { Grey } from "../raster/grid.ts";
import { scale, type Canvas } from "./upscale-tile.ts";

/** Enlarges the alpha channel with Lanczos and writes it to the fourth channel of `canvas`. */
export async function upscaleAlpha(alpha: Grey, canvas: Canvas): Promise<void> {
  const { width, height } = alpha;
  const large = await sharp(alpha.data, { raw: { width, height, channels: 1 }, limitInputPixels: false })
    .resize(width * scale, height * scale, { kernel: "lanczos3", fit: "fill" })
    .toColourspace("b-w")
    .raw()
    .toBuffer();
  for (let i = 0; i < large.length; i++) canvas.data[i * 4 + 3] = byteAt(large, i);
}
