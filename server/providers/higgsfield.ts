import { callProvider, maxPictureBytes, type ProviderAnswer, retryAfterOf } from "./http.ts";
import { encodePictures, toDataUri } from "./pictures.ts";
import { type ProviderAccess, type ProviderClient, ProviderError, type RunState } from "./port.ts";
import { namedId, readBody, readRecord, readText } from "./read.ts";
import { failedRun, madeRun, statusError } from "./refusals.ts";
import { sentenceOf } from "./sentences.ts";
import { verifyStandardWebhook } from "./standard-webhooks.ts";

const auth = ({ apiKey }: ProviderAccess) => ({ authorization: `Key ${apiKey}` });

/** The host of the older generation, which ignores idempotency keys. */
const olderHost = "platform.higgsfield.ai";

/**
 * Higgsfield, as both generations of its documentation describe it: the older one refuses runs above the limit with 400,
 * the newer one with 429 and knows idempotency keys.
 */
export const higgsfield: ProviderClient = {
  name: "higgsfield",
  isAsynchronous: true,
  isIdempotent: ({ baseUrl }) => new URL(baseUrl).host !== olderHost,

  async submit(access, { endpoint, input, webhookUrl, idempotencyKey, beforePaid }, signal) {
    const url = new URL(`${access.baseUrl}/${endpoint}`);
    if (webhookUrl !== null) url.searchParams.set("hf_webhook", webhookUrl);
    const answer = await callProvider({
      method: "POST",
      url: url.href,
      headers: { ...auth(access), "idempotency-key": idempotencyKey },
      body: await encodePictures(input, toDataUri),
      signal,
      beforePaid,
    });
    if (answer.status !== 200 && answer.status !== 201 && answer.status !== 202) throw refusal(answer, true);
    const externalId = readText(readRecord(answer.json)["request_id"]);
    if (externalId === null) throw new ProviderError("lost", "The answer names no request.");
    return { handle: { endpoint, externalId, urls: {} }, run: { state: "queued", progress: null } };
  },

  async get(access, { externalId }, signal) {
    const url = `${access.baseUrl}/requests/${encodeURIComponent(externalId)}/status`;
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

  async cancel(access, { externalId }, signal) {
    const url = `${access.baseUrl}/requests/${encodeURIComponent(externalId)}/cancel`;
    const answer = await callProvider({ method: "POST", url, headers: auth(access), signal });
    if (answer.status < 300) return "requested";
    // Only a run that still waits can be cancelled.
    if (answer.status === 400 || answer.status === 409 || answer.status === 404) return "too_late";
    throw refusal(answer, false);
  },

  async verifyWebhook({ webhookSecret }, request) {
    // Older accounts send unsigned ones, which are a hint only, as all webhooks are here.
    if (webhookSecret !== null) verifyStandardWebhook(webhookSecret, request);
    return { externalId: namedId(readBody(request), "request_id") };
  },
};

function toRun(body: Readonly<Record<string, unknown>>): RunState {
  switch (body["status"]) {
    case "completed":
      return madeRun(resultOf(body), body);
    // Neither these nor refused contents are charged.
    case "failed":
      return failedRun(sentenceOf(body["error"]) ?? "The run failed.", { costUsd: 0 });
    case "nsfw": {
      const words = sentenceOf(body["error"] ?? body["detail"]);
      return { state: "failed", error: new ProviderError("moderation", "nsfw", { words }), costUsd: 0 };
    }
    case "canceled":
      return { state: "cancelled", costUsd: 0 };
    case "in_progress":
      return { state: "running", progress: null };
    default:
      return { state: "queued", progress: null };
  }
}

/** Its pictures; its other members are addresses of the run itself. */
function resultOf({
  images,
  image,
  jobs,
  results,
  result,
  output,
  message,
}: Readonly<Record<string, unknown>>) {
  return { images, image, jobs, results, result, output, message };
}

function refusal(answer: ProviderAnswer, isSubmit: boolean): ProviderError {
  const body = readRecord(answer.json);
  const message = `HTTP ${answer.status}: ${answer.excerpt}`;
  const retryAfterMs = retryAfterOf(answer);
  const isFull =
    body["code"] === "account_queue_full" ||
    /maximum number of concurrent/i.test(readText(body["detail"]) ?? "");
  if (isFull) return new ProviderError("capacity", message, { retryAfterMs });
  if (answer.status === 403) return new ProviderError("credit", message);
  if (answer.status === 423) return new ProviderError("transient", message, { retryAfterMs });
  return statusError(answer, isSubmit);
}
