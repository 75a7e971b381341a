import path from "node:path";
import sharp from "sharp";
import { maxOutputPixels } from "@atelier/server/engines";
import { AppError } from "@atelier/server/platform";
import { readPicture, type Picture } from "./picture/read-picture.ts";
import { inputPath, type LocalRun, type RunContext } from "./run-context.ts";
import { planTiles } from "./upscale/plan-tiles.ts";
import { createTilePreview } from "./upscale/tile-preview.ts";
import { upscaleAlpha } from "./upscale/upscale-alpha.ts";
import { scale, upscaleTile, type Canvas } from "./upscale/upscale-tile.ts";
import { writeSharp } from "../write-sharp.ts";

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
    .catch((cause: unknown) => {
      throw new AppError("upload_unreadable", undefined, { cause });
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
