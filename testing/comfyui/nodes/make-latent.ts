import { cropToMultiple, resize } from "../pictures/resize.ts";
import { solidFrame, toRgb, type Frame } from "../pictures.ts";
import { growBy } from "./change-mask.ts";
import type { NodeCall, NodeResult } from "./node-call.ts";
import type { LatentValue, Value } from "./value.ts";

const latentStepPx = 8;

/** The empty latents of all model families. */
export function emptyLatent({ inputs }: NodeCall): NodeResult {
  const step = latentStepPx;
  const [width, height] = [inputs.number("width"), inputs.number("height")];
  const size = { widthPx: width - (width % step), heightPx: height - (height % step) };
  const count = inputs.number("batch_size");
  return { values: [{ kind: "latent", ...size, count, pixels: null, mask: null }] };
}

/** VAEEncode and VAEEncodeTiled: cut to multiples of 8. */
export async function vaeEncode({ inputs }: NodeCall): Promise<NodeResult> {
  return { values: [await encode(inputs.image("pixels"), null)] };
}

/** VAEEncodeForInpaint: the mask is grown and goes with the latent. */
export async function vaeEncodeForInpaint({ inputs }: NodeCall): Promise<NodeResult> {
  const [found = null] = inputs.mask("mask");
  const grown = found && growBy(found, inputs.number("grow_mask_by"));
  return { values: [await encode(inputs.image("pixels"), grown)] };
}

/** InpaintModelConditioning: positive, negative, latent. */
export async function inpaintModelConditioning({ inputs }: NodeCall): Promise<NodeResult> {
  const [found = null] = inputs.mask("mask");
  const conditioning: Value = { kind: "opaque", type: "CONDITIONING" };
  const latent = await encode(inputs.image("pixels"), inputs.flag("noise_mask") ? found : null);
  return { values: [conditioning, conditioning, latent] };
}

/** SetLatentNoiseMask. */
export async function setLatentNoiseMask({ inputs }: NodeCall): Promise<NodeResult> {
  const latent = inputs.latent("samples");
  const [found] = inputs.mask("mask");
  return { values: [{ ...latent, mask: found ? await resize(found, latent) : null }] };
}

/** LatentUpscale and LatentUpscaleBy. */
export async function upscaleLatent({ inputs, classType }: NodeCall): Promise<NodeResult> {
  const latent = inputs.latent("samples");
  const factor = classType === "LatentUpscaleBy" ? inputs.number("scale_by") : 1;
  const isSized = classType === "LatentUpscale";
  const side = (px: number) => Math.max(latentStepPx, Math.round(px / latentStepPx) * latentStepPx);
  const size = {
    widthPx: side(isSized ? inputs.number("width") || latent.widthPx : latent.widthPx * factor),
    heightPx: side(isSized ? inputs.number("height") || latent.heightPx : latent.heightPx * factor),
  };
  const pixels: Frame[] = [];
  for (const frame of latent.pixels ?? []) pixels.push(await resize(frame, size));
  const mask = latent.mask && (await resize(latent.mask, size));
  return { values: [{ ...latent, ...size, pixels: latent.pixels && pixels, mask }] };
}

/** VAEDecode and VAEDecodeTiled: an empty latent decodes to grey. */
export function vaeDecode({ inputs }: NodeCall): NodeResult {
  const { pixels, widthPx, heightPx, count } = inputs.latent("samples");
  const grey = () => Array.from({ length: count }, () => solidFrame(widthPx, heightPx, [127, 127, 127]));
  return { values: [{ kind: "image", frames: pixels ?? grey() }] };
}

async function encode(frames: readonly Frame[], mask: Frame | null): Promise<LatentValue> {
  const pixels: Frame[] = [];
  for (const frame of frames) pixels.push(await cropToMultiple(toRgb(frame), latentStepPx));
  const [first = solidFrame(latentStepPx, latentStepPx, [0, 0, 0])] = pixels;
  const size = { widthPx: first.widthPx, heightPx: first.heightPx };
  const fitted = mask && (await fitMask(mask, frames[0] ?? first, size));
  return { kind: "latent", ...size, count: pixels.length, pixels, mask: fitted };
}

async function fitMask(
  mask: Frame,
  like: Frame,
  size: { widthPx: number; heightPx: number },
): Promise<Frame> {
  const whole = await resize(mask, like, { method: "bilinear" });
  return resize(await cropToMultiple(whole, latentStepPx), size);
}
