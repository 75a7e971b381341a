import { mix } from "../pictures/composite.ts";
import { mapBytes, toRgb, type Frame } from "../pictures.ts";
import { resize } from "../pictures/resize.ts";
import type { NodeCall, NodeResult } from "./node-call.ts";
import { image } from "./value.ts";

type Mode = (below: number, above: number) => number;

const modes: Readonly<Record<string, Mode>> = {
  normal: (_, above) => above,
  multiply: (below, above) => below * above,
  screen: (below, above) => 1 - (1 - below) * (1 - above),
  overlay: (below, above) => (below <= 0.5 ? 2 * below * above : 1 - 2 * (1 - below) * (1 - above)),
  soft_light: (below, above) => (1 - 2 * above) * below * below + 2 * above * below,
  difference: (below, above) => below - above,
};

/** ImageBlend: the second picture over the first, in its size. */
export async function imageBlend({ inputs }: NodeCall): Promise<NodeResult> {
  const mode = modes[inputs.text("blend_mode")] ?? modes.normal;
  const seconds = inputs.image("image2");
  const frames: Frame[] = [];
  for (const [index, first] of inputs.image("image1").entries()) {
    const second = seconds[index % seconds.length] ?? first;
    const above = await resize(toRgb(second), first, { method: "bicubic", crop: "center" });
    const blended = mapBytes(first, (value, at) => {
      const mixed = mode?.(value / 255, (above.data[at] ?? 0) / 255) ?? 0;
      return Math.round(mixed * 255);
    });
    frames.push(mix(first, blended, inputs.number("blend_factor")));
  }
  return { values: [image(frames)] };
}
