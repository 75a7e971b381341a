import sharp from "sharp";
import { byteAt } from "../raster/cells.ts";
import type { Rgb } from "../raster/grid.ts";
import { makePreview } from "../picture/make-preview.ts";
import type { Tile } from "./plan-tiles.ts";

const sidePx = 384;

/** A small copy of the input in which tiles that are still to come stay dim. */
export async function createTilePreview(input: Rgb) {
  const { data, info } = await sharp(input.data, {
    raw: { width: input.width, height: input.height, channels: 3 },
    limitInputPixels: false,
  })
    .resize(sidePx, sidePx, { fit: "inside", withoutEnlargement: true })
    .raw()
    .toBuffer({ resolveWithObject: true });
  const { width, height } = info;
  const shown = data.map((value) => value >> 2);
  const ratio = { x: width / input.width, y: height / input.height };

  function reveal(tile: Tile): void {
    const left = Math.floor(tile.x * ratio.x) * 3;
    const right = Math.ceil((tile.x + tile.width) * ratio.x) * 3;
    const bottom = Math.ceil((tile.y + tile.height) * ratio.y);
    for (let y = Math.floor(tile.y * ratio.y); y < bottom; y++) {
      for (let i = y * width * 3 + left; i < y * width * 3 + right; i++) shown[i] = byteAt(data, i);
    }
  }
  return { reveal, jpeg: () => makePreview({ data: shown, width, height }) };
}
