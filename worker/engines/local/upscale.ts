import path from "node:path";
import { type InferenceSession, Tensor } from "onnxruntime-node";
import sharp from "sharp";
import { maxOutputPixels } from "@atelier/server/engines";
import { AppError, undecodedFile } from "@atelier/server/platform";
import { makePreview, type Picture, readPicture, writeSharp } from "../pictures.ts";
import { inputPath, type LocalRun, type RunContext } from "./run-context.ts";
import { byteAt, floatAt, type Grey, type Rgb, type Size } from "./raster/grid.ts";

/** A square part of the input, and the same with the overlap that the network needs to see. */
interface Tile {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly padded: {
    readonly x: number;
    readonly y: number;
    readonly width: number;
    readonly height: number;
  };
}

const sidesPx = [256, 192, 128, 96, 64, 48, 32, 16, 8, 4, 2, 1];
const overlapPx = 12;
/** At least this many tiles, so that small pictures show progress too. */
const minTiles = 6;

function planTiles(size: Size): readonly Tile[] {
  const countAt = (side: number) => Math.ceil(size.width / side) * Math.ceil(size.height / side);
  const side = sidesPx.find((px) => countAt(px) >= minTiles) ?? 1;
  const tiles: Tile[] = [];
  for (let y = 0; y < size.height; y += side) {
    for (let x = 0; x < size.width; x += side) tiles.push(tileAt(size, { x, y }, side));
  }
  return tiles;
}

function tileAt(size: Size, { x, y }: { x: number; y: number }, side: number): Tile {
  const left = Math.max(0, x - overlapPx);
  const top = Math.max(0, y - overlapPx);
  const right = Math.min(size.width, x + side + overlapPx);
  const bottom = Math.min(size.height, y + side + overlapPx);
  return {
    x,
    y,
    width: Math.min(side, size.width - x),
    height: Math.min(side, size.height - y),
    padded: { x: left, y: top, width: right - left, height: bottom - top },
  };
}

const sidePx = 384;

/** A small copy of the input in which unfinished tiles are dimmed. */
async function createTilePreview(input: Rgb) {
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

const scale = 2;

/** The output picture, filled tile by tile; `channels` is 4 with alpha, which tiles do not write. */
interface Canvas {
  readonly data: Uint8Array;
  readonly width: number;
  readonly channels: 3 | 4;
}

/** Runs the network on one tile of `input` and writes what lies inside the tile's own borders to `canvas`. */
async function upscaleTile(
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

/** Enlarges the alpha channel with Lanczos and writes it to the fourth channel of `canvas`. */
async function upscaleAlpha(alpha: Grey, canvas: Canvas): Promise<void> {
  const { width, height } = alpha;
  const large = await sharp(alpha.data, { raw: { width, height, channels: 1 }, limitInputPixels: false })
    .resize(width * scale, height * scale, { kernel: "lanczos3", fit: "fill" })
    .toColourspace("b-w")
    .raw()
    .toBuffer();
  for (let i = 0; i < large.length; i++) canvas.data[i * 4 + 3] = byteAt(large, i);
}

/** Above this input size the small network is used: the better one takes about 20 s per megapixel. */
const fastAbovePixels = 1_000_000;
const tilesShare = 0.96;
const previewCount = 6;

/** Enlarges a picture to twice its sides. Throws `output_too_large`, `upload_unreadable`. */
export const runUpscale: LocalRun = async (task, context) => {
  const startedAt = performance.now();
  context.progress(0, "reading");
  const file = inputPath(task, "image");
  await checkSize(file);
  const picture = await readPicture(file);
  context.progress(0, "loading");
  const model = picture.width * picture.height > fastAbovePixels ? "slim-x2" : "medium-x2";
  const canvas = createCanvas(picture);
  const tileCount = await upscaleTiles({ picture, canvas, model }, context);
  if (picture.alpha) await upscaleAlpha(picture.alpha, canvas);
  context.progress(tilesShare, "writing");
  const output = path.join(task.workDir, "result.png");
  const raw = { width: canvas.width, height: picture.height * scale, channels: canvas.channels };
  await writeSharp(sharp(canvas.data, { raw, limitInputPixels: false }).png(), output);
  context.progress(1, "writing");
  const timeMs = Math.round(performance.now() - startedAt);
  return [{ path: output, mime: "image/png", facts: { model, tileCount, timeMs } }];
};

async function checkSize(file: string): Promise<void> {
  const { width, height } = await sharp(file, { limitInputPixels: false })
    .metadata()
    .catch(async (cause: unknown) => {
      throw await undecodedFile(file, "upload_unreadable", cause);
    });
  const outputPixels = width * height * scale * scale;
  if (outputPixels > maxOutputPixels) {
    throw new AppError("output_too_large", undefined, { details: { outputPixels, maxOutputPixels } });
  }
}

function createCanvas({ width, height, alpha }: Picture): Canvas {
  const channels = alpha ? 4 : 3;
  return {
    data: new Uint8Array(width * scale * height * scale * channels),
    width: width * scale,
    channels,
  };
}

interface Work {
  readonly picture: Picture;
  readonly canvas: Canvas;
  readonly model: "medium-x2" | "slim-x2";
}

async function upscaleTiles({ picture, canvas, model }: Work, context: RunContext): Promise<number> {
  const session = await context.runtime.onnx(model);
  const preview = await createTilePreview(picture);
  const tiles = planTiles(picture);
  const previewEvery = Math.ceil(tiles.length / previewCount);
  for (const [index, tile] of tiles.entries()) {
    await upscaleTile(session, tile, { input: picture, canvas });
    preview.reveal(tile);
    const done = index + 1;
    context.progress(tilesShare * (done / tiles.length), "tile");
    if (done % previewEvery === 0) context.preview(await preview.jpeg());
  }
  return tiles.length;
}
