import { channelOf, mapBytes, toRgb, type Frame } from "../pictures.ts";
import type { NodeCall, NodeResult } from "./node-call.ts";
import { image, mask } from "./value.ts";

/** MaskToImage: grey pictures. */
export function maskToImage({ inputs }: NodeCall): NodeResult {
  return { values: [image(inputs.mask("mask").map(toRgb))] };
}

/** ImageToMask: one channel as it is. */
export function imageToMask({ inputs }: NodeCall): NodeResult {
  const channel = ["red", "green", "blue", "alpha"].indexOf(inputs.text("channel"));
  const frames = inputs.image("image");
  return { values: [mask(frames.map((frame) => channelOf(frame, Math.min(channel, frame.channels - 1))))] };
}

/** InvertMask. */
export function invertMask({ inputs }: NodeCall): NodeResult {
  return { values: [mask(inputs.mask("mask").map((frame) => mapBytes(frame, (value) => 255 - value)))] };
}

/** ThresholdMask. */
export function thresholdMask({ inputs }: NodeCall): NodeResult {
  const limit = inputs.number("value") * 255;
  const frames = inputs.mask("mask");
  return { values: [mask(frames.map((frame) => mapBytes(frame, (value) => (value > limit ? 255 : 0))))] };
}

/** GrowMask: `expand` times by one pixel; negative shrinks. */
export function growMask({ inputs }: NodeCall): NodeResult {
  const expand = inputs.number("expand");
  return { values: [mask(inputs.mask("mask").map((frame) => growBy(frame, expand)))] };
}

/** A mask grown by some pixels: a square window, first along rows and then along columns. */
export function growBy(frame: Frame, expandPx: number): Frame {
  const pick = expandPx < 0 ? Math.min : Math.max;
  const reach = Math.abs(expandPx);
  const { widthPx, heightPx } = frame;
  const sweep = (data: Uint8Array, step: number, length: number) => {
    const out = new Uint8Array(data.length);
    for (let at = 0; at < data.length; at += 1) {
      const place = Math.trunc(at / step) % length;
      const from = Math.max(0, place - reach) - place;
      const to = Math.min(length - 1, place + reach) - place;
      let found = data[at] ?? 0;
      for (let by = from; by <= to; by += 1) found = pick(found, data[at + by * step] ?? 0);
      out[at] = found;
    }
    return out;
  };
  return { ...frame, data: sweep(sweep(frame.data, 1, widthPx), widthPx, heightPx) };
}
