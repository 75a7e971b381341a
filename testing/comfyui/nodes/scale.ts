import { composite, type Frame, resize, solidFrame, toRgb } from "../pictures.ts";
import { image, type NodeCall, type NodeResult, perFrame } from "./call.ts";

/** ImageScale: 0 keeps the ratio. */
export const imageScale = perFrame((frame, { inputs }) => {
  const [width, height] = [inputs.number("width"), inputs.number("height")];
  if (width === 0 && height === 0) return frame;
  const widthPx = width || Math.max(1, Math.round((frame.widthPx * height) / frame.heightPx));
  const heightPx = height || Math.max(1, Math.round((frame.heightPx * width) / frame.widthPx));
  const how = { method: inputs.text("upscale_method"), crop: inputs.text("crop") };
  return resize(frame, { widthPx, heightPx }, how);
});

/** ImageScaleBy. */
export const imageScaleBy = perFrame((frame, { inputs }) => {
  const factor = inputs.number("scale_by");
  const widthPx = Math.max(1, Math.round(frame.widthPx * factor));
  const heightPx = Math.max(1, Math.round(frame.heightPx * factor));
  return resize(frame, { widthPx, heightPx }, { method: inputs.text("upscale_method") });
});

const megapixel = 1024 * 1024;

/** ImageScaleToTotalPixels: sizes are multiples of `resolution_steps`. */
export const imageScaleToTotalPixels = perFrame((frame, { inputs }) => {
  const steps = inputs.number("resolution_steps");
  const factor = Math.sqrt((inputs.number("megapixels") * megapixel) / (frame.widthPx * frame.heightPx));
  const side = (px: number) => Math.max(steps, Math.round((px * factor) / steps) * steps);
  const size = { widthPx: side(frame.widthPx), heightPx: side(frame.heightPx) };
  return resize(frame, size, { method: inputs.text("upscale_method") });
});

/** The sizes that FLUX.1 Kontext was trained on. */
const kontextSizes = [
  [672, 1568],
  [688, 1504],
  [720, 1456],
  [752, 1392],
  [800, 1328],
  [832, 1248],
  [880, 1184],
  [944, 1104],
  [1024, 1024],
  [1104, 944],
  [1184, 880],
  [1248, 832],
  [1328, 800],
  [1392, 752],
  [1456, 720],
  [1504, 688],
  [1568, 672],
] as const;

/** FluxKontextImageScale: the trained size whose ratio is nearest. */
export const fluxKontextImageScale = perFrame((frame) => {
  const ratio = frame.widthPx / frame.heightPx;
  const distance = ([width, height]: readonly [number, number]) => Math.abs(ratio - width / height);
  const [best = [1024, 1024] as const] = kontextSizes.toSorted((a, b) => distance(a) - distance(b));
  return resize(frame, { widthPx: best[0], heightPx: best[1] }, { method: "lanczos", crop: "center" });
});

const tilePx = 512;

/** UpscaleModelLoader: the file name tells the factor. */
export function loadUpscaleModel({ inputs }: NodeCall): NodeResult {
  return { values: [{ kind: "model", file: inputs.text("model_name") }] };
}

/** ImageUpscaleWithModel: tile by tile, each one a step. */
export async function imageUpscaleWithModel(call: NodeCall): Promise<NodeResult> {
  const model = call.inputs.optional("upscale_model");
  const factor = factorOf(model?.kind === "model" ? model.file : "");
  const frames = call.inputs.image("image");
  const tiles = frames.reduce((sum, frame) => sum + countTiles(frame), 0);
  for (let tile = 1; tile <= tiles; tile += 1) {
    await call.step();
    await call.progress(tile, tiles);
  }
  const large: Frame[] = [];
  for (const frame of frames) {
    const size = { widthPx: frame.widthPx * factor, heightPx: frame.heightPx * factor };
    large.push(await resize(frame, size, { method: "lanczos" }));
  }
  return { values: [image(large)] };
}

function factorOf(file: string): number {
  return Number(/(\d)x|x(\d)/i.exec(file)?.slice(1).find(Boolean) ?? 4);
}

function countTiles(frame: Frame): number {
  return Math.ceil(frame.widthPx / tilePx) * Math.ceil(frame.heightPx / tilePx);
}

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
