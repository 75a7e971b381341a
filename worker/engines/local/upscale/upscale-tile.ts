import { Tensor, type InferenceSession } from "onnxruntime-node";
import { byteAt, floatAt } from "../raster/cells.ts";
import type { Rgb } from "../raster/grid.ts";
import type { Tile } from "./plan-tiles.ts";

export const scale = 2;

/** The output picture, filled tile by tile; `channels` is 4 when it carries alpha, which tiles leave alone. */
export interface Canvas {
  readonly data: Uint8Array;
  readonly width: number;
  readonly channels: 3 | 4;
}

/** Runs the network on one tile of `input` and writes what lies inside the tile's own borders to `canvas`. */
export async function upscaleTile(
  session: InferenceSession,
  tile: Tile,
  pictures: { readonly input: Rgb; readonly canvas: Canvas },
): Promise<void> {
  const { width, height } = tile.padded;
  const [inputName, outputName] = [session.inputNames[0], session.outputNames[0]];
  if (!inputName || !outputName) throw new TypeError("the model has no input or output");
  const tensor = new Tensor("float32", planarOf(pictures.input, tile), [1, 3, height, width]);
  const results = await session.run({ [inputName]: tensor });
  const planes = results[outputName]?.data;
  if (!(planes instanceof Float32Array)) throw new TypeError("the model does not answer with floats");
  paste(planes, tile, pictures.canvas);
}

function planarOf(input: Rgb, { padded }: Tile): Float32Array {
  const planes = new Float32Array(3 * padded.width * padded.height);
  const size = padded.width * padded.height;
  for (let row = 0; row < padded.height; row++) {
    let from = ((padded.y + row) * input.width + padded.x) * 3;
    for (let to = row * padded.width; to < (row + 1) * padded.width; to++, from += 3) {
      planes[to] = byteAt(input.data, from) / 255;
      planes[to + size] = byteAt(input.data, from + 1) / 255;
      planes[to + 2 * size] = byteAt(input.data, from + 2) / 255;
    }
  }
  return planes;
}

function paste(planes: Float32Array, tile: Tile, canvas: Canvas): void {
  const planeWidth = tile.padded.width * scale;
  const planeSize = planeWidth * tile.padded.height * scale;
  const skipX = (tile.x - tile.padded.x) * scale;
  const skipY = (tile.y - tile.padded.y) * scale;
  for (let row = 0; row < tile.height * scale; row++) {
    let to = ((tile.y * scale + row) * canvas.width + tile.x * scale) * canvas.channels;
    const start = (skipY + row) * planeWidth + skipX;
    for (let from = start; from < start + tile.width * scale; from++, to += canvas.channels) {
      canvas.data[to] = toByte(floatAt(planes, from));
      canvas.data[to + 1] = toByte(floatAt(planes, from + planeSize));
      canvas.data[to + 2] = toByte(floatAt(planes, from + 2 * planeSize));
    }
  }
}

function toByte(value: number): number {
  return value <= 0 ? 0 : value >= 1 ? 255 : Math.round(value * 255);
}
