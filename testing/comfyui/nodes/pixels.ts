import {
  composite,
  type Frame,
  mapBytes,
  mix,
  pipe,
  resize,
  solidFrame,
  toFrame,
  toRgb,
} from "../pictures.ts";
import { cpuOutOfMemory, image, mask, type NodeCall, type NodeResult, perFrame } from "./call.ts";

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

/** ImageInvert. */
export const imageInvert = perFrame((frame) => mapBytes(frame, (value) => 255 - value));

/** ImageBlur; a kernel that ends at the radius is left to sharp's own cut. */
export const imageBlur = perFrame((frame, { inputs }) => {
  const sigma = Math.min(inputs.number("sigma"), inputs.number("blur_radius"));
  return toFrame(pipe(frame).blur(Math.max(0.3, sigma)));
});

/** ImageSharpen. */
export const imageSharpen = perFrame((frame, { inputs }) =>
  toFrame(pipe(frame).sharpen({ sigma: inputs.number("sigma"), m2: inputs.number("alpha") })),
);

/** ImageFlip. */
export const imageFlip = perFrame((frame, { inputs }) =>
  toFrame(inputs.text("flip_method").startsWith("x") ? pipe(frame).flip() : pipe(frame).flop()),
);

/** ImageRotate: clockwise by quarters. */
export const imageRotate = perFrame((frame, { inputs }) => {
  const degrees = Number.parseInt(inputs.text("rotation"), 10) || 0;
  return toFrame(pipe(frame).rotate(degrees));
});

/** ImageCrop: the window is moved inside as the real node does. */
export const imageCrop = perFrame((frame, { inputs }) => {
  const left = Math.min(inputs.number("x"), frame.widthPx - 1);
  const top = Math.min(inputs.number("y"), frame.heightPx - 1);
  const width = Math.min(inputs.number("width"), frame.widthPx - left);
  const height = Math.min(inputs.number("height"), frame.heightPx - top);
  return toFrame(pipe(frame).extract({ left, top, width, height }));
});

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

/** ImagePadForOutpaint: grey borders, and a mask that is 1 there and fades over `feathering` inside. */
export function imagePadForOutpaint({ inputs }: NodeCall): NodeResult {
  const [leftPx, topPx] = [inputs.number("left"), inputs.number("top")];
  const [rightPx, bottomPx] = [inputs.number("right"), inputs.number("bottom")];
  const padded = inputs.image("image").map((frame) => {
    const widthPx = frame.widthPx + leftPx + rightPx;
    const heightPx = frame.heightPx + topPx + bottomPx;
    const destination = solidFrame(widthPx, heightPx, [127, 127, 127]);
    return composite({ destination, source: toRgb(frame), mask: null, leftPx, topPx });
  });
  const [first] = inputs.image("image");
  if (!first) return { values: [image([]), mask([])] };
  const sides = { leftPx, topPx, rightPx, bottomPx, featheringPx: inputs.number("feathering") };
  return { values: [image(padded), mask([padMask(first, sides)])] };
}

interface Sides {
  readonly leftPx: number;
  readonly topPx: number;
  readonly rightPx: number;
  readonly bottomPx: number;
  readonly featheringPx: number;
}

function padMask(frame: Frame, sides: Sides): Frame {
  const widthPx = frame.widthPx + sides.leftPx + sides.rightPx;
  const ground = solidFrame(widthPx, frame.heightPx + sides.topPx + sides.bottomPx, [255]);
  return mapBytes(ground, (_, at) => {
    const column = (at % widthPx) - sides.leftPx;
    const row = Math.trunc(at / widthPx) - sides.topPx;
    if (column < 0 || row < 0 || column >= frame.widthPx || row >= frame.heightPx) return 255;
    const far = Number.POSITIVE_INFINITY;
    const distance = Math.min(
      sides.leftPx ? column : far,
      sides.rightPx ? frame.widthPx - column : far,
      sides.topPx ? row : far,
      sides.bottomPx ? frame.heightPx - row : far,
    );
    if (distance >= sides.featheringPx) return 0;
    return Math.round(((sides.featheringPx - distance) / sides.featheringPx) ** 2 * 255);
  });
}
