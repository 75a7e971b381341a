import { readFile } from "node:fs/promises";
import path from "node:path";
import sharp from "sharp";
import type { InputRole } from "@atelier/server/engines";
import { readOriginalTo } from "@atelier/server/images";
import { type Job, loadInputImages } from "@atelier/server/jobs";
import { AppError, type Env, namesLoopback } from "@atelier/server/platform";
import {
  type Attempt,
  fillTemplate,
  type ModelOffer,
  type ProviderAccess,
  type ProviderPicture,
  type Submission,
  type TemplateValues,
} from "@atelier/server/providers";
import type { Services } from "@atelier/server/services";

/** Files of the input pictures by role, and what a template may ask for. */
export interface CloudInputs {
  readonly files: Partial<Record<InputRole, string>>;
  readonly values: TemplateValues;
}

/** Longest side and most bytes of a picture that is sent; larger ones are scaled down. */
const maxSidePx = 4_096;
const maxBytes = 6 * 1024 ** 2;

/** Fetches the pictures of a job into the folder and reads its params. Throws `input_missing`. */
export async function readCloudInputs(services: Services, job: Job, workDir: string): Promise<CloudInputs> {
  const files: Partial<Record<InputRole, string>> = {};
  const values: Record<string, TemplateValues[string]> = paramsOf(job);
  const images = await loadInputImages(services, job.id);
  if (images.size < job.inputCount) throw new AppError("input_missing");
  for (const [role, image] of images) {
    const file = path.join(workDir, role);
    await readOriginalTo(services, image, file);
    files[role] = file;
    values[role] = await toPicture(file, role);
  }
  const base = images.get("image") ?? images.get("person");
  const [width, height] = [values["width"], values["height"]];
  if (typeof width === "number" && typeof height === "number")
    values["aspect_ratio"] = nearestRatio(width, height);
  else if (base) values["aspect_ratio"] = nearestRatio(base.widthPx, base.heightPx);
  return { files, values };
}

/** The params under the names of the placeholders. */
function paramsOf({ params }: Job): Record<string, TemplateValues[string]> {
  const { prompt, negativePrompt, seed, width, height, scale, category } = params;
  const named = { prompt, negative_prompt: negativePrompt, seed, width, height, scale, category };
  return Object.fromEntries(
    Object.entries(named).flatMap(([name, value]) =>
      (typeof value === "string" && value !== "") || typeof value === "number" ? [[name, value]] : [],
    ),
  );
}

/** As stored where a provider reads it, else as JPEG, or PNG where it has transparency. A mask stays as it is. */
async function toPicture(file: string, role: InputRole): Promise<ProviderPicture> {
  const bytes = await readFile(file);
  const picture = sharp(bytes, { limitInputPixels: false });
  const { format, width, height, hasAlpha } = await picture.metadata();
  const mime = { png: "image/png", jpeg: "image/jpeg", webp: "image/webp" } as const;
  const known = format === "png" || format === "jpeg" || format === "webp" ? mime[format] : null;
  if (role === "mask") return { bytes, mime: "image/png" };
  const isSmall = bytes.length <= maxBytes && Math.max(width, height) <= maxSidePx;
  if (known && isSmall) return { bytes, mime: known };
  const smaller = picture.resize(maxSidePx, maxSidePx, { fit: "inside", withoutEnlargement: true });
  return hasAlpha
    ? { bytes: await smaller.webp({ quality: 92 }).toBuffer(), mime: "image/webp" }
    : { bytes: await smaller.jpeg({ quality: 92 }).toBuffer(), mime: "image/jpeg" };
}

const ratios = ["1:1", "2:3", "3:2", "3:4", "4:3", "4:5", "5:4", "9:16", "16:9", "21:9"];

/** The ratio that most providers know and that is nearest to the size. */
function nearestRatio(width: number, height: number): string {
  const wanted = Math.log(width / height);
  const distance = (ratio: string) => {
    const [across = 1, down = 1] = ratio.split(":").map(Number);
    return Math.abs(Math.log(across / down) - wanted);
  };
  return ratios.toSorted((a, b) => distance(a) - distance(b))[0] ?? "1:1";
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
  }: { readonly job: Job; readonly inputs: CloudInputs } & Pick<Submission, "webhookUrl" | "beforePaid">,
): Submission {
  return {
    endpoint: offer.endpoint,
    kind: job.kind,
    input: fillTemplate(offer.input, inputs.values),
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
