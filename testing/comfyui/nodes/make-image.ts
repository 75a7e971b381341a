import { solidFrame } from "../pictures.ts";
import type { NodeCall, NodeResult } from "./node-call.ts";
import { cpuOutOfMemory } from "./node-error.ts";
import { image, mask } from "./value.ts";

/** More than this is not to be had, on any machine that runs tests. */
const memoryBytes = 2 * 1024 ** 3;
const bytesPerFloat = 4;

/** EmptyImage: a batch of one colour. */
export function emptyImage({ inputs }: NodeCall): NodeResult {
  const [width, height] = [inputs.number("width"), inputs.number("height")];
  const count = inputs.number("batch_size");
  const neededBytes = width * height * count * bytesPerFloat;
  if (neededBytes > memoryBytes) throw cpuOutOfMemory(neededBytes);
  const color = inputs.number("color");
  const frame = solidFrame(width, height, [(color >> 16) & 255, (color >> 8) & 255, color & 255]);
  return { values: [image(Array.from({ length: count }, () => frame))] };
}

/** SolidMask: one value everywhere. */
export function solidMask({ inputs }: NodeCall): NodeResult {
  const value = Math.round(inputs.number("value") * 255);
  return { values: [mask([solidFrame(inputs.number("width"), inputs.number("height"), [value])])] };
}
