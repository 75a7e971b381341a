import { callProvider, maxRetryAfterMs, type ProviderAnswer, retryAfterOf, statusError } from "./http.ts";
import { isPicture, toBase64 } from "./pictures.ts";
import {
  type InputValue,
  type ProviderClient,
  ProviderError,
  type ProviderErrorClass,
  type ProviderOutput,
  type RunState,
} from "./port.ts";
import { readRecord, readText } from "./read.ts";

const timeoutMs = 150_000;
const maxBytes = 60 * 1024 ** 2;

/**
 * Google Gemini images: one request, which answers with the picture. In the input, `parts` is the list of texts and
 * pictures, and `imageConfig` goes to the API as it is.
 */
export const google: ProviderClient = {
  name: "google",
  isAsynchronous: false,
  isIdempotent: () => false,

  async submit(access, { endpoint, input, idempotencyKey, beforePaid }, signal) {
    const { parts, imageConfig } = input;
    const answer = await callProvider({
      method: "POST",
      url: `${access.baseUrl}/models/${encodeURIComponent(endpoint)}:generateContent`,
      headers: { "x-goog-api-key": access.apiKey },
      body: {
        contents: [{ role: "user", parts: toParts(parts) }],
        generationConfig: {
          responseModalities: ["IMAGE"],
          ...(imageConfig === undefined ? {} : { imageConfig }),
        },
      },
      signal,
      beforePaid,
      timeoutMs,
      maxBytes,
    });
    if (answer.status !== 200) throw refusal(answer);
    // A page of a proxy says nothing about the picture behind it, which may be paid.
    if (answer.json === undefined) throw new ProviderError("lost", "The answer is no JSON.");
    return { handle: { endpoint, externalId: idempotencyKey, urls: {} }, run: toRun(answer.json) };
  },

  get: () => Promise.reject(new ProviderError("lost", "The provider keeps no runs.")),
  cancel: () => Promise.resolve("unsupported"),
  verifyWebhook: () => Promise.reject(new ProviderError("auth", "The provider sends no webhooks.")),
};

function toParts(parts: InputValue | undefined) {
  const list: readonly InputValue[] = Array.isArray(parts) ? parts : [];
  return list.flatMap((part): object[] => {
    if (typeof part === "string") return [{ text: part }];
    return isPicture(part) ? [{ inlineData: { mimeType: part.mime, data: toBase64(part) } }] : [];
  });
}

/** An answer without a picture is a normal failure; its reason says whether another try helps. */
function toRun(json: unknown): RunState {
  const body = readRecord(json);
  const blockReason = readText(readRecord(body["promptFeedback"])["blockReason"]);
  const candidates = Array.isArray(body["candidates"]) ? body["candidates"] : [];
  const candidate = readRecord(candidates[0]);
  const parts = readRecord(candidate["content"])["parts"];
  const outputs = (Array.isArray(parts) ? parts : []).flatMap((part): ProviderOutput[] => {
    const { inlineData, inline_data: snake, thought } = readRecord(part);
    const data = readText(readRecord(inlineData ?? snake)["data"]);
    return data === null || thought === true ? [] : [{ bytes: Buffer.from(data, "base64") }];
  });
  if (outputs.length > 0) return { state: "succeeded", outputs: outputs.slice(-1), costUsd: null };
  const reason = blockReason ?? readText(candidate["finishReason"]) ?? "no picture";
  return {
    state: "failed",
    error: new ProviderError(classOf(reason), `No picture: ${reason}`),
    costUsd: null,
  };
}

function classOf(reason: string): ProviderErrorClass {
  return /SAFETY|PROHIBITED|BLOCKLIST|SPII|RECITATION|JAILBREAK/.test(reason) ? "moderation" : "transient";
}

function refusal(answer: ProviderAnswer): ProviderError {
  const error = readRecord(readRecord(answer.json)["error"]);
  const message = `HTTP ${answer.status}: ${readText(error["message"]) ?? answer.excerpt}`;
  const details = Array.isArray(error["details"]) ? error["details"].map(readRecord) : [];
  if (answer.status === 429) {
    // The delay beside the quota of a day is that of another one.
    const isOfDay = JSON.stringify(details).includes("PerDay");
    const delay = details.map((detail) => readText(detail["retryDelay"])).find((text) => text !== null);
    const delayMs = delay ? retryAfterOf({ "retry-after": delay.replace(/s$/, "") }) : null;
    const retryAfterMs = isOfDay ? maxRetryAfterMs : (delayMs ?? retryAfterOf(answer.headers));
    return new ProviderError("rate", message, { retryAfterMs });
  }
  if (answer.status === 503)
    return new ProviderError("capacity", message, { retryAfterMs: retryAfterOf(answer.headers) });
  // A wrong key is answered with 400 INVALID_ARGUMENT, as a wrong field is.
  if (details.some(({ reason }) => reason === "API_KEY_INVALID")) return new ProviderError("auth", message);
  if (answer.status === 400 && error["status"] === "FAILED_PRECONDITION")
    return new ProviderError("auth", message);
  return statusError(answer, true);
}
