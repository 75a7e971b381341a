import { resize } from "../pictures/resize.ts";
import type { Frame } from "../pictures.ts";
import type { NodeCall, NodeResult } from "./node-call.ts";
import { image } from "./value.ts";

const tilePx = 512;

/** UpscaleModelLoader: the file name tells the factor. */
export function loadUpscaleModel({ inputs }: NodeCall): NodeResult {
  return { values: [{ kind: "model", file: inputs.text("model_name") }] };
}

/** ImageUpscaleWithModel: tile by tile, each one a step. */
export async function imageUpscaleWithModel(call: NodeCall): Promise<NodeResult> {
  const model = call.inputs.optional("upscale_model");
  const factor = factorOf(model?.kind === "model" ? model.file : "");
  const frames = call.inputs.image("image");
  const tiles = frames.reduce((sum, frame) => sum + countTiles(frame), 0);
  for (let tile = 1; tile <= tiles; tile += 1) {
    await call.step();
    await call.progress(tile, tiles);
  }
  const large: Frame[] = [];
  for (const frame of frames) {
    const size = { widthPx: frame.widthPx * factor, heightPx: frame.heightPx * factor };
    large.push(await resize(frame, size, { method: "lanczos" }));
  }
  return { values: [image(large)] };
}

function factorOf(file: string): number {
  return Number(/(\d)x|x(\d)/i.exec(file)?.slice(1).find(Boolean) ?? 4);
}

function countTiles(frame: Frame): number {
  return Math.ceil(frame.widthPx / tilePx) * Math.ceil(frame.heightPx / tilePx);
}
