import { composite } from "../pictures/composite.ts";
import { toRgb, type Frame } from "../pictures.ts";
import { resize } from "../pictures/resize.ts";
import type { NodeCall, NodeResult } from "./node-call.ts";
import { image } from "./value.ts";

/** ImageCompositeMasked: bytes outside the mask stay exact. */
export async function imageCompositeMasked({ inputs }: NodeCall): Promise<NodeResult> {
  const sources = inputs.image("source");
  const given = inputs.optional("mask");
  const masks = given?.kind === "mask" ? given.frames : [];
  const frames: Frame[] = [];
  for (const [index, destination] of inputs.image("destination").entries()) {
    const plain = sources[index % sources.length] ?? destination;
    const source = inputs.flag("resize_source") ? await resize(plain, destination) : plain;
    const found = masks[index % Math.max(1, masks.length)];
    const mask = found ? await resize(found, source, { method: "bilinear" }) : null;
    const place = { leftPx: inputs.number("x"), topPx: inputs.number("y") };
    frames.push(composite({ destination: toRgb(destination), source, mask, ...place }));
  }
  return { values: [image(frames)] };
}
