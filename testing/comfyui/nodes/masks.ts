import { pipe, toFrame } from "../pictures/codec.ts";
import { channelOf, mapBytes, solidFrame, toRgb, type Frame } from "../pictures.ts";
import type { NodeCall, NodeResult } from "./node-call.ts";
import { image, mask } from "./value.ts";

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
