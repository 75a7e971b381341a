import { resize } from "../pictures/resize.ts";
import { toRgb, type Frame } from "../pictures.ts";
import type { NodeCall, NodeResult } from "./node-call.ts";
import { image } from "./value.ts";

/** ImageBatch: both batches in the size of the first. */
export async function imageBatch({ inputs }: NodeCall): Promise<NodeResult> {
  const firsts = inputs.image("image1");
  const [like] = firsts;
  const frames: Frame[] = [...firsts];
  for (const frame of inputs.image("image2")) {
    frames.push(like ? await resize(toRgb(frame), like, { method: "bilinear", crop: "center" }) : frame);
  }
  return { values: [image(frames)] };
}

/** ImageFromBatch. */
export function imageFromBatch({ inputs }: NodeCall): NodeResult {
  const frames = inputs.image("image");
  const start = Math.min(inputs.number("batch_index"), frames.length - 1);
  return { values: [image(frames.slice(start, start + inputs.number("length")))] };
}

/** RepeatImageBatch. */
export function repeatImageBatch({ inputs }: NodeCall): NodeResult {
  const frames = inputs.image("image");
  return { values: [image(Array.from({ length: inputs.number("amount") }, () => frames).flat())] };
}

/** GetImageSize: width, height, batch size, shown as text too. */
export function getImageSize(call: NodeCall): NodeResult {
  const frames = call.inputs.image("image");
  const numbers = [frames[0]?.widthPx ?? 0, frames[0]?.heightPx ?? 0, frames.length];
  call.say(`width: ${numbers[0]}, height: ${numbers[1]}\n batch size: ${numbers[2]}`);
  return { values: numbers.map((value) => ({ kind: "number", value })) };
}
