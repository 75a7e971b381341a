import { callProvider, maxPictureBytes, type ProviderAnswer, retryAfterOf } from "./http.ts";
import { encodePictures, toDataUri } from "./pictures.ts";
import {
  type ProviderAccess,
  type ProviderClient,
  ProviderError,
  type ProviderErrorClass,
  type RunState,
} from "./port.ts";
import { namedId, readBody, readRecord, readText } from "./read.ts";
import { kindOfRefusal, madeRun, statusError } from "./refusals.ts";
import { sentenceOf } from "./sentences.ts";

const auth = ({ apiKey }: ProviderAccess) => ({ authorization: `Bearer ${apiKey}` });

/** FASHN: virtual try-on. Its 429 has three meanings; its webhooks are unsigned, so they are a hint only. */
export const fashn: ProviderClient = {
  name: "fashn",
  isAsynchronous: true,
  isIdempotent: () => false,
  freeCall: (access) => ({ url: `${access.baseUrl}/credits`, headers: auth(access) }),

  async submit(access, { endpoint, input, webhookUrl, beforePaid }, signal) {
    const url = new URL(`${access.baseUrl}/run`);
    if (webhookUrl !== null) url.searchParams.set("webhook_url", webhookUrl);
    const answer = await callProvider({
      method: "POST",
      url: url.href,
      headers: auth(access),
      body: { model_name: endpoint, inputs: await encodePictures(input, toDataUri) },
      signal,
      beforePaid,
    });
    if (answer.status !== 200) throw refusal(answer, true);
    const externalId = readText(readRecord(answer.json)["id"]);
    if (externalId === null) throw new ProviderError("lost", "The answer names no prediction.");
    return { handle: { endpoint, externalId, urls: {} }, run: { state: "queued", progress: null } };
  },

  async get(access, { externalId }, signal) {
    const url = `${access.baseUrl}/status/${encodeURIComponent(externalId)}`;
    const answer = await callProvider({
      method: "GET",
      url,
      headers: auth(access),
      signal,
      maxBytes: maxPictureBytes,
    });
    if (answer.status !== 200 || answer.json === undefined) throw refusal(answer, false);
    return toRun(readRecord(answer.json));
  },

  cancel: () => Promise.resolve("unsupported"),

  async verifyWebhook(_access, request) {
    return { externalId: namedId(readBody(request), "id") };
  },
};

function toRun(body: Readonly<Record<string, unknown>>): RunState {
  switch (body["status"]) {
    case "completed":
      return madeRun(body["output"], body);
    case "failed":
    case "time_out": {
      const words = sentenceOf(readRecord(body["error"])["message"]);
      const name = readText(readRecord(body["error"])["name"]);
      const errorClass = body["status"] === "time_out" ? "timeout" : classOf(name, words ?? "");
      const text = `${name ?? String(body["status"])}: ${words ?? ""}`;
      // Failures are not charged.
      return { state: "failed", error: new ProviderError(errorClass, text, { words }), costUsd: 0 };
    }
    case "canceled":
      return { state: "cancelled", costUsd: 0 };
    case "processing":
      return { state: "running", progress: null };
    default:
      return { state: "queued", progress: null };
  }
}

const classes: Readonly<Record<string, ProviderErrorClass>> = {
  ImageLoadError: "input",
  ContentModerationError: "moderation",
  PoseError: "input",
  InputValidationError: "input",
  LoRALoadError: "input",
  ThirdPartyError: "input",
  PipelineError: "transient",
  "3rdPartyProviderError": "transient",
  InternalServerError: "transient",
};

function classOf(name: string | null, words: string): ProviderErrorClass {
  const known = classes[name ?? ""];
  return known ?? (kindOfRefusal(`${name} ${words}`, null) === "moderation" ? "moderation" : "internal");
}

function refusal(answer: ProviderAnswer, isSubmit: boolean): ProviderError {
  const name = readText(readRecord(answer.json)["error"]);
  const message = `HTTP ${answer.status}: ${answer.excerpt}`;
  const retryAfterMs = retryAfterOf(answer);
  if (name === "ConcurrencyLimitExceeded") return new ProviderError("capacity", message, { retryAfterMs });
  if (name === "OutOfCredits") return new ProviderError("credit", message);
  return statusError(answer, isSubmit);
}
