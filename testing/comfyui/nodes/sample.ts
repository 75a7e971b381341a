import {
  composite,
  cropToMultiple,
  type Frame,
  mix,
  noiseFrame,
  pipe,
  resize,
  seededPicture,
  solidFrame,
  toRgb,
} from "../pictures.ts";
import type { Preview } from "../socket.ts";
import type { LatentValue, NodeCall, NodeResult, Value } from "./call.ts";
import { growBy } from "./masks.ts";

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

/** KSampler and KSamplerAdvanced. */
export async function kSampler(call: NodeCall): Promise<NodeResult> {
  const denoise = call.classType === "KSampler" ? call.inputs.number("denoise") : 1;
  return { values: [await sample(call, call.inputs.number("steps"), denoise)] };
}

/** SamplerCustomAdvanced: steps come with the sigmas. */
export async function samplerCustomAdvanced(call: NodeCall): Promise<NodeResult> {
  const sigmas = call.inputs.optional("sigmas");
  const { steps, denoise } = sigmas?.kind === "sigmas" ? sigmas : { steps: 1, denoise: 1 };
  const latent = await sample(call, steps, denoise);
  return { values: [latent, latent] };
}

/** BasicScheduler and Flux2Scheduler. */
export function schedule({ inputs, classType }: NodeCall): NodeResult {
  const denoise = classType === "BasicScheduler" ? inputs.number("denoise") : 1;
  return { values: [{ kind: "sigmas", steps: inputs.number("steps"), denoise }] };
}

/** A picture that depends on the sampler's signature: seed, prompt, model, steps and all else that goes in. */
async function sample(call: NodeCall, steps: number, denoise: number): Promise<Value> {
  const latent = call.inputs.latent("latent_image");
  let preview: Preview | undefined;
  for (let step = 1; step <= steps; step += 1) {
    await call.step();
    // Every step sends a preview, as a real server does; in a long run several send the same one.
    if (call.arePreviewsOn && isPreviewDue(step, steps))
      preview = await makePreview(call, latent, step / steps);
    await call.progress(step, steps, preview);
  }
  const pixels: Frame[] = [];
  for (let index = 0; index < latent.count; index += 1) {
    const painted = await seededPicture(`${call.signature}/${index}`, latent);
    pixels.push(paintOver(latent, painted, { index, denoise }));
  }
  return { ...latent, pixels, mask: null };
}

function paintOver(
  latent: LatentValue,
  painted: Frame,
  { index, denoise }: { index: number; denoise: number },
): Frame {
  const given = latent.pixels?.[index];
  if (!given) return painted;
  const mixed = denoise < 1 ? mix(given, painted, denoise) : painted;
  if (!latent.mask) return mixed;
  return composite({ destination: given, source: mixed, mask: latent.mask, leftPx: 0, topPx: 0 });
}
/** Different previews of one run at most, since one costs as much CPU time as many steps of the simulator. */
const previewsPerRun = 8;

/** Whether a new preview is made before this step is reported. */
function isPreviewDue(step: number, steps: number): boolean {
  const shareAt = (at: number) => Math.ceil((at / steps) * previewsPerRun);
  return shareAt(step) > shareAt(step - 1);
}

/** `--preview-size` of the real server, which also enlarges to it. */
const previewSidePx = 512;

/** As latent2rgb shows it: one pixel per latent cell, noise that clears up, enlarged and encoded as the server does. */
async function makePreview(call: NodeCall, latent: LatentValue, share: number): Promise<Preview> {
  const cells = (px: number) => Math.max(1, Math.round(px / latentStepPx));
  const size = { widthPx: cells(latent.widthPx), heightPx: cells(latent.heightPx) };
  const picture = await seededPicture(`${call.signature}/0`, size);
  const noise = noiseFrame(`${call.signature}/noise/${share}`, size);
  const bytes = await pipe(mix(noise, picture, share))
    .resize(previewSidePx, previewSidePx, { fit: "inside", kernel: "linear" })
    .jpeg({ quality: 95 })
    .toBuffer();
  return { format: "jpeg", bytes };
}
