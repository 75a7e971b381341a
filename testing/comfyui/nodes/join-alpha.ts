import { solidFrame, toRgb, type Frame } from "../pictures.ts";
import { composite } from "../pictures/composite.ts";
import { resize } from "../pictures/resize.ts";
import { perFrame, type NodeCall, type NodeResult } from "./node-call.ts";
import { image } from "./value.ts";

/** JoinImageWithAlpha: transparent where the mask is 1. */
export async function joinAlpha({ inputs }: NodeCall): Promise<NodeResult> {
  const masks = inputs.mask("alpha");
  const frames: Frame[] = [];
  for (const [index, frame] of inputs.image("image").entries()) {
    const found = masks[index % Math.max(1, masks.length)];
    const alpha = found ? await resize(found, frame, { method: "bilinear" }) : null;
    const rgb = toRgb(frame).data;
    const data = new Uint8Array(frame.widthPx * frame.heightPx * 4);
    for (let at = 0; at < data.length; at += 1) {
      const pixel = Math.trunc(at / 4);
      data[at] = at % 4 === 3 ? 255 - (alpha?.data[pixel] ?? 0) : (rgb[pixel * 3 + (at % 4)] ?? 0);
    }
    frames.push({ ...frame, channels: 4, data });
  }
  return { values: [image(frames)] };
}

/** ResizeAndPadImage: fits in and fills up. */
export const resizeAndPad = perFrame(async (frame, { inputs }) => {
  const [widthPx, heightPx] = [inputs.number("target_width"), inputs.number("target_height")];
  const factor = Math.min(widthPx / frame.widthPx, heightPx / frame.heightPx);
  const size = {
    widthPx: Math.max(1, Math.trunc(frame.widthPx * factor)),
    heightPx: Math.max(1, Math.trunc(frame.heightPx * factor)),
  };
  const source = await resize(toRgb(frame), size, { method: inputs.text("interpolation") });
  const grey = inputs.text("padding_color") === "white" ? 255 : 0;
  const destination = solidFrame(widthPx, heightPx, [grey, grey, grey]);
  const leftPx = Math.trunc((widthPx - size.widthPx) / 2);
  const topPx = Math.trunc((heightPx - size.heightPx) / 2);
  return composite({ destination, source, mask: null, leftPx, topPx });
});
