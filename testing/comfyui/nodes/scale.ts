import { composite } from "../pictures/composite.ts";
import { solidFrame, toRgb, type Frame } from "../pictures.ts";
import { resize } from "../pictures/resize.ts";
import type { NodeCall, NodeResult } from "./node-call.ts";
import { image } from "./value.ts";

const colors: Readonly<Record<string, readonly [number, number, number]>> = {
  white: [255, 255, 255],
  black: [0, 0, 0],
  red: [255, 0, 0],
  green: [0, 255, 0],
  blue: [0, 0, 255],
};

/** ImageStitch: the second picture beside the first; without one the first alone. */
export async function imageStitch({ inputs }: NodeCall): Promise<NodeResult> {
  const firsts = inputs.image("image1");
  const second = inputs.optional("image2");
  if (second?.kind !== "image") return { values: [image(firsts)] };
  const direction = inputs.text("direction");
  const isSideways = direction === "right" || direction === "left";
  const frames: Frame[] = [];
  for (const [index, first] of firsts.entries()) {
    const given = toRgb(second.frames[index % second.frames.length] ?? first);
    const fitted = inputs.flag("match_image_size") ? await fit(given, first, isSideways) : given;
    const isFirstAhead = direction === "right" || direction === "down";
    const pair = isFirstAhead ? ([toRgb(first), fitted] as const) : ([fitted, toRgb(first)] as const);
    // Odd gaps are made even.
    const gap = {
      px: 2 * Math.ceil(inputs.number("spacing_width") / 2),
      color: colors[inputs.text("spacing_color")],
    };
    frames.push(join(pair, isSideways, gap));
  }
  return { values: [image(frames)] };
}

function fit(frame: Frame, like: Frame, isSideways: boolean): Promise<Frame> {
  const ratio = frame.widthPx / frame.heightPx;
  const size = isSideways
    ? { widthPx: Math.max(1, Math.trunc(like.heightPx * ratio)), heightPx: like.heightPx }
    : { widthPx: like.widthPx, heightPx: Math.max(1, Math.trunc(like.widthPx / ratio)) };
  return resize(frame, size, { method: "lanczos" });
}

interface Gap {
  readonly px: number;
  readonly color: readonly [number, number, number] | undefined;
}

function join([one, two]: readonly [Frame, Frame], isSideways: boolean, gap: Gap): Frame {
  const leftPx = isSideways ? one.widthPx + gap.px : 0;
  const topPx = isSideways ? 0 : one.heightPx + gap.px;
  const widthPx = Math.max(one.widthPx, leftPx + two.widthPx);
  const heightPx = Math.max(one.heightPx, topPx + two.heightPx);
  const ground = solidFrame(widthPx, heightPx, gap.color ?? [255, 255, 255]);
  const withOne = composite({ destination: ground, source: one, mask: null, leftPx: 0, topPx: 0 });
  return composite({ destination: withOne, source: two, mask: null, leftPx, topPx });
}
