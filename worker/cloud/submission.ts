import { readFile } from "node:fs/promises";
import sharp from "sharp";
import type { InputRole } from "@atelier/server/engines";
import { fetchInputs, type Job } from "@atelier/server/jobs";
import { type Env, namesLoopback } from "@atelier/server/platform";
import {
  type Attempt,
  fillTemplate,
  type ModelOffer,
  type ProviderAccess,
  type ProviderPicture,
  type Submission,
  type TemplateValues,
} from "@atelier/server/providers";
import type { Size } from "@atelier/server/retouch";
import type { Services } from "@atelier/server/services";
import { seedWithin } from "@atelier/server/workflows";
import { askedSize, sizeValues } from "./sizes.ts";

/** Files of the input pictures by role, and what a template may ask for. */
export interface CloudInputs {
  readonly files: Readonly<Partial<Record<InputRole, string>>>;
  readonly values: TemplateValues;
  /** Of the picture that is changed; null without one. */
  readonly shape: Size | null;
}

/** Longest side and most bytes of a picture that is sent; larger ones are scaled down. */
const maxSidePx = 4_096;
const maxBytes = 6 * 1024 ** 2;

/** Fetches the pictures of a job into the folder and reads its params. Throws `input_missing`, and at once the signal's reason. */
export async function readCloudInputs(
  services: Services,
  job: Job,
  folder: { readonly workDir: string; readonly signal: AbortSignal },
): Promise<CloudInputs> {
  const { images, files } = await fetchInputs(services, job, folder);
  const values: Record<string, TemplateValues[string]> = valuesOf(job);
  const base = images.get("image") ?? images.get("person");
  const shape = base ? { width: base.widthPx, height: base.heightPx } : null;
  for (const [role, file] of Object.entries(files))
    values[role] = role === "mask" ? await toMask(file, shape) : await toPicture(file);
  return { files, values, shape };
}

/** How the instructions of a model name a garment. */
const categoryTexts: Readonly<Record<string, string>> = {
  auto: "garment",
  top: "top",
  bottom: "trousers or skirt",
  dress: "dress",
};

/** The largest seed that every provider takes; a larger one is folded into the range, always to the same seed. */
const seeds = { min: 0, max: 2 ** 31 - 1 };

/** The params under the names of the placeholders. */
export function valuesOf({ params }: Pick<Job, "params">): Record<string, TemplateValues[string]> {
  const { prompt, negativePrompt, seed, steps, guidance, strength, scale, category = "auto" } = params;
  const named = {
    prompt,
    negative_prompt: negativePrompt,
    seed: typeof seed === "number" ? seedWithin(seed, seeds) : undefined,
    steps,
    guidance,
    strength,
    scale,
    category,
    category_text: categoryTexts[String(category)],
  };
  return Object.fromEntries(
    Object.entries(named).flatMap(([name, value]) =>
      (typeof value === "string" && value !== "") || typeof value === "number" ? [[name, value]] : [],
    ),
  );
}

/** As stored where a provider reads it, else as JPEG, or WebP where it has transparency. */
export async function toPicture(file: string): Promise<ProviderPicture> {
  const bytes = await readFile(file);
  const picture = sharp(bytes, { limitInputPixels: false });
  const { format, width, height, hasAlpha } = await picture.metadata();
  const mime = { png: "image/png", jpeg: "image/jpeg", webp: "image/webp" } as const;
  const known = format === "png" || format === "jpeg" || format === "webp" ? mime[format] : null;
  const sent = sentSize({ width, height });
  if (known && bytes.length <= maxBytes && sent.width === width) return { bytes, mime: known };
  const smaller = picture.resize(sent.width, sent.height, { fit: "fill" });
  return hasAlpha
    ? { bytes: await smaller.webp({ quality: 92 }).toBuffer(), mime: "image/webp" }
    : { bytes: await smaller.jpeg({ quality: 92 }).toBuffer(), mime: "image/jpeg" };
}

/** The size in which a picture is sent. */
function sentSize({ width, height }: Size): Size {
  const scale = Math.min(1, maxSidePx / Math.max(width, height));
  const side = (px: number) => Math.max(1, Math.round(px * scale));
  return { width: side(width), height: side(height) };
}

/** A mask as it is, or in the size in which its picture is sent. */
export async function toMask(file: string, shape: Size | null): Promise<ProviderPicture> {
  const bytes = await readFile(file);
  const mask = sharp(bytes, { limitInputPixels: false });
  const own = await mask.metadata();
  const sent = sentSize(shape ?? own);
  if (own.width === sent.width && own.height === sent.height) return { bytes, mime: "image/png" };
  const scaled = mask.resize(sent.width, sent.height, { fit: "fill", kernel: "linear" });
  return { bytes: await scaled.png().toBuffer(), mime: "image/png" };
}

/** What is sent for an attempt; the same each time, so that a provider that knows the key repeats nothing. */
export function submissionFor(
  attempt: Pick<Attempt, "id">,
  offer: ModelOffer,
  {
    job,
    inputs,
    webhookUrl,
    beforePaid,
  }: { readonly job: Pick<Job, "kind" | "params">; readonly inputs: CloudInputs } & Pick<
    Submission,
    "webhookUrl" | "beforePaid"
  >,
): Submission {
  return {
    endpoint: offer.endpoint,
    kind: job.kind,
    input: fillTemplate(offer.input, {
      ...inputs.values,
      ...sizeValues(offer, { asked: askedSize(job), shape: inputs.shape }),
    }),
    idempotencyKey: attempt.id,
    webhookUrl,
    beforePaid,
  };
}

/**
 * Where the provider reports the end of an attempt; null where it cannot reach the studio: without HTTPS, or on this
 * computer alone. A provider that runs on this computer as well, such as a simulator, can.
 */
export function webhookUrlOf(
  { APP_URL }: Pick<Env, "APP_URL">,
  access: ProviderAccess,
  { provider, token }: Pick<Attempt, "provider" | "token">,
): string | null {
  if (!APP_URL) return null;
  const { protocol, hostname } = new URL(APP_URL);
  const isNear = namesLoopback(new URL(access.baseUrl).hostname);
  if (!isNear && (protocol !== "https:" || namesLoopback(hostname))) return null;
  return `${APP_URL.replace(/\/+$/, "")}/api/webhooks/${provider}/${token}`;
}
