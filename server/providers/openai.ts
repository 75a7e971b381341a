import sharp from "sharp";
import { callProvider, type ProviderAnswer, statusError } from "./http.ts";
import { isPicture } from "./pictures.ts";
import {
  type InputValue,
  type ProviderClient,
  ProviderError,
  type ProviderOutput,
  type ProviderPicture,
  type Submission,
} from "./port.ts";
import { readRecord, readText } from "./read.ts";

const timeoutMs = 170_000;
const maxBytes = 60 * 1024 ** 2;

/**
 * Any server with the images API of OpenAI: a submission without pictures goes to `/images/generations`, one with
 * pictures to `/images/edits`. One request, which answers with the picture.
 */
export const openai: ProviderClient = {
  name: "openai",
  isAsynchronous: false,
  isIdempotent: () => false,

  async submit(access, submission, signal) {
    const { endpoint, input, idempotencyKey, beforePaid } = submission;
    const isEdit = Object.values(input).some((value) => picturesOf(value).length > 0);
    const answer = await callProvider({
      method: "POST",
      url: `${access.baseUrl}/images/${isEdit ? "edits" : "generations"}`,
      // A server of one's own may need no key.
      headers: access.apiKey === "" ? {} : { authorization: `Bearer ${access.apiKey}` },
      body: isEdit ? await toForm(submission) : { model: endpoint, ...input },
      signal,
      beforePaid,
      timeoutMs,
      maxBytes,
    });
    if (answer.status !== 200) throw refusal(answer);
    // A page of a proxy says nothing about the picture behind it, which may be paid.
    if (answer.json === undefined) throw new ProviderError("lost", "The answer is no JSON.");
    const { data } = readRecord(answer.json);
    const outputs = (Array.isArray(data) ? data : []).flatMap(toOutput);
    if (outputs.length === 0) throw new ProviderError("internal", "The answer has no picture.");
    const handle = { endpoint, externalId: idempotencyKey, urls: {} };
    return { handle, run: { state: "succeeded", outputs, costUsd: null } };
  },

  get: () => Promise.reject(new ProviderError("lost", "The provider keeps no runs.")),
  cancel: () => Promise.resolve("unsupported"),
  verifyWebhook: () => Promise.reject(new ProviderError("auth", "The provider sends no webhooks.")),
};

function picturesOf(value: InputValue): ProviderPicture[] {
  if (isPicture(value)) return [value];
  return Array.isArray(value) ? value.flatMap(picturesOf) : [];
}

function toOutput(item: unknown): ProviderOutput[] {
  const { b64_json: base64, url } = readRecord(item);
  if (typeof base64 === "string") return [{ bytes: Buffer.from(base64, "base64") }];
  return typeof url === "string" ? [{ url }] : [];
}

async function toForm({ endpoint, input }: Submission): Promise<FormData> {
  const form = new FormData();
  form.set("model", endpoint);
  for (const [name, value] of Object.entries(input)) {
    const pictures = picturesOf(value);
    if (name === "mask" && pictures[0]) form.set(name, toBlob(await toAlphaMask(pictures[0])), "mask.png");
    else if (pictures.length > 0)
      for (const [at, picture] of pictures.entries())
        form.append(
          pictures.length > 1 ? `${name}[]` : name,
          toBlob(picture),
          `${name}-${at}.${extensionOf(picture)}`,
        );
    else if (typeof value === "string" || typeof value === "number" || typeof value === "boolean")
      form.set(name, String(value));
  }
  return form;
}

/** Some servers go by the name of a file instead of its type. */
function extensionOf({ mime }: ProviderPicture): string {
  return mime.slice("image/".length);
}

function toBlob({ bytes, mime }: ProviderPicture): Blob {
  return new Blob([new Uint8Array(bytes)], { type: mime });
}

/** Our masks are grey, white where the picture changes; OpenAI's are transparent there. */
async function toAlphaMask({ bytes }: ProviderPicture): Promise<ProviderPicture> {
  const { data, info } = await sharp(bytes)
    .toColourspace("b-w")
    .removeAlpha()
    .extractChannel(0)
    .negate()
    .raw()
    .toBuffer({ resolveWithObject: true });
  const { width, height } = info;
  const rgb = { create: { width, height, channels: 3, background: "black" } } as const;
  const made = await sharp(rgb)
    .joinChannel(data, { raw: { width, height, channels: 1 } })
    .png()
    .toBuffer();
  return { bytes: made, mime: "image/png" };
}

function refusal(answer: ProviderAnswer): ProviderError {
  const error = readRecord(readRecord(answer.json)["error"]);
  const code = `${readText(error["code"]) ?? ""} ${readText(error["type"]) ?? ""}`;
  const message = `HTTP ${answer.status}: ${readText(error["message"]) ?? answer.excerpt}`;
  if (/content_policy|content_filter|moderation/.test(code)) return new ProviderError("moderation", message);
  if (/insufficient_quota|billing/.test(code)) return new ProviderError("credit", message);
  return statusError(answer, true);
}
