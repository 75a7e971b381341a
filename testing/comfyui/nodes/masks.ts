import {
  channelOf,
  composite,
  type Frame,
  mapBytes,
  pipe,
  resize,
  solidFrame,
  toFrame,
  toRgb,
} from "../pictures.ts";
import { image, mask, type NodeCall, type NodeResult, perFrame } from "./call.ts";

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

const operations: Readonly<Record<string, (below: number, above: number) => number>> = {
  multiply: (below, above) => (below * above) / 255,
  add: (below, above) => below + above,
  subtract: (below, above) => below - above,
  and: (below, above) => (below > 127 && above > 127 ? 255 : 0),
  or: (below, above) => (below > 127 || above > 127 ? 255 : 0),
  xor: (below, above) => (below > 127 === above > 127 ? 0 : 255),
};

/** MaskComposite. */
export function maskComposite({ inputs }: NodeCall): NodeResult {
  const operate = operations[inputs.text("operation")];
  const [source] = inputs.mask("source");
  const [leftPx, topPx] = [inputs.number("x"), inputs.number("y")];
  const made = inputs.mask("destination").map((frame) =>
    mapBytes(frame, (value, at) => {
      const column = (at % frame.widthPx) - leftPx;
      const row = Math.trunc(at / frame.widthPx) - topPx;
      const isInside = source && column >= 0 && row >= 0 && column < source.widthPx && row < source.heightPx;
      const above = isInside ? source.data[row * source.widthPx + column] : undefined;
      return above === undefined || !operate ? value : operate(value, above);
    }),
  );
  return { values: [mask(made)] };
}

/** CropMask. */
export async function cropMask({ inputs }: NodeCall): Promise<NodeResult> {
  const made: Frame[] = [];
  for (const frame of inputs.mask("mask")) {
    const left = Math.min(inputs.number("x"), frame.widthPx - 1);
    const top = Math.min(inputs.number("y"), frame.heightPx - 1);
    const width = Math.min(inputs.number("width"), frame.widthPx - left);
    const height = Math.min(inputs.number("height"), frame.heightPx - top);
    made.push(await toFrame(pipe(frame).extract({ left, top, width, height }).toColourspace("b-w")));
  }
  return { values: [mask(made)] };
}

/** FeatherMask: fades in from the sides; on the far ones the real node puts the first line at the near edge. */
export function featherMask({ inputs }: NodeCall): NodeResult {
  const near = (atPx: number, widthPx: number) => (widthPx === 0 ? 1 : Math.min(1, (atPx + 1) / widthPx));
  const fade = (atPx: number, sizePx: number, [firstPx, lastPx]: readonly [number, number]) => {
    const wrapped = atPx === 0 && lastPx > 0 ? 1 / lastPx : 1;
    const far = lastPx === 0 ? 1 : Math.min(1, (sizePx - atPx + 1) / lastPx);
    return near(atPx, firstPx) * far * wrapped;
  };
  const made = inputs.mask("mask").map((frame) =>
    mapBytes(frame, (value, at) => {
      const column = at % frame.widthPx;
      const row = Math.trunc(at / frame.widthPx);
      const across = fade(column, frame.widthPx, [inputs.number("left"), inputs.number("right")]);
      const down = fade(row, frame.heightPx, [inputs.number("top"), inputs.number("bottom")]);
      return Math.round(value * across * down);
    }),
  );
  return { values: [mask(made)] };
}

/** ImageColorToMask: 1 where a pixel has exactly this colour. */
export function imageColorToMask({ inputs }: NodeCall): NodeResult {
  const color = inputs.number("color");
  const made = inputs.image("image").map((frame) => {
    const { data } = toRgb(frame);
    return mapBytes(solidFrame(frame.widthPx, frame.heightPx, [0]), (_, at) => {
      const [red = 0, green = 0, blue = 0] = data.subarray(at * 3, at * 3 + 3);
      return red * 65_536 + green * 256 + blue === color ? 255 : 0;
    });
  });
  return { values: [mask(made)] };
}

/** SplitImageWithAlpha: the colours, and what is transparent. */
export function splitAlpha({ inputs }: NodeCall): NodeResult {
  const frames = inputs.image("image");
  const masks = frames.map((frame) =>
    frame.channels === 4
      ? mapBytes(channelOf(frame, 3), (alpha) => 255 - alpha)
      : solidFrame(frame.widthPx, frame.heightPx, [0]),
  );
  return { values: [image(frames.map(toRgb)), mask(masks)] };
}
