import { composite, mix } from "../pictures/composite.ts";
import { pipe } from "../pictures/codec.ts";
import type { Frame } from "../pictures.ts";
import { noiseFrame, seededPicture } from "../pictures/seeded-picture.ts";
import type { Preview } from "../socket/preview-frame.ts";
import type { NodeCall, NodeResult } from "./node-call.ts";
import type { LatentValue, Value } from "./value.ts";

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
  for (let step = 1; step <= steps; step += 1) {
    await call.step();
    const preview = call.arePreviewsOn ? await makePreview(call, latent, step / steps) : undefined;
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

const latentStepPx = 8;
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
