import { callProvider, maxPictureBytes, type ProviderAnswer } from "./http.ts";
import { encodePictures, toDataUri } from "./pictures.ts";
import {
  type ProviderAccess,
  type ProviderClient,
  ProviderError,
  type ProviderPicture,
  type RunHandle,
  type RunState,
} from "./port.ts";
import { namedId, readBody, readRecord, readText } from "./read.ts";
import { failedRun, madeRun, statusError } from "./refusals.ts";
import { sentenceOf } from "./sentences.ts";
import { verifyStandardWebhook } from "./standard-webhooks.ts";

/** Above this Replicate advises against data URIs. */
const maxDataUriBytes = 256_000;
const uploadTimeoutMs = 60_000;
const pagesSearched = 20;

const auth = ({ apiKey }: ProviderAccess) => ({ authorization: `Bearer ${apiKey}` });

/**
 * Replicate: predictions, ended by webhook or polling. The endpoint is `owner/name` of an official model, or
 * `owner/name:version`.
 */
export const replicate: ProviderClient = {
  name: "replicate",
  isAsynchronous: true,
  isIdempotent: () => false,
  freeCall: (access) => ({ url: `${access.baseUrl}/account`, headers: auth(access) }),

  async submit(access, { endpoint, input, webhookUrl, beforePaid }, signal) {
    const encoded = await encodePictures(input, (picture) => toAddress(access, picture, signal));
    const [model, version] = endpoint.split(":");
    const answer = await callProvider({
      method: "POST",
      url: `${access.baseUrl}/${version ? "predictions" : `models/${model}/predictions`}`,
      headers: auth(access),
      body: {
        ...(version ? { version } : {}),
        input: encoded,
        // Only the end matters; each event would be a request.
        ...(webhookUrl === null ? {} : { webhook: webhookUrl, webhook_events_filter: ["completed"] }),
      },
      signal,
      beforePaid,
    });
    if (answer.status !== 201 && answer.status !== 202 && answer.status !== 200) throw refusal(answer, true);
    const prediction = readRecord(answer.json);
    const externalId = readText(prediction["id"]);
    if (externalId === null) throw new ProviderError("lost", "The answer names no prediction.");
    return { handle: { endpoint, externalId, urls: {} }, run: toRun(prediction) };
  },

  async get(access, { externalId }, signal) {
    return toRun(await readPrediction(access, externalId, signal));
  },

  async cancel(access, { externalId }, signal) {
    const url = `${access.baseUrl}/predictions/${encodeURIComponent(externalId)}/cancel`;
    const answer = await callProvider({ method: "POST", url, headers: auth(access), signal });
    if (answer.status !== 200) throw refusal(answer, false);
    const { status } = readRecord(answer.json);
    return status === "succeeded" || status === "failed" ? "too_late" : "requested";
  },

  async find(access, { webhookUrl, submittedAt }, signal) {
    let url: string | null = `${access.baseUrl}/predictions`;
    for (let page = 0; url !== null; page += 1) {
      // A search that is not done says nothing: the run may stand on a later page.
      if (page === pagesSearched) throw new ProviderError("internal", "The list of predictions is too long.");
      const answer: ProviderAnswer = await callProvider({
        method: "GET",
        url,
        headers: auth(access),
        signal,
      });
      if (answer.status !== 200) throw refusal(answer, false);
      const body = readRecord(answer.json);
      // What is no list, such as a page of a proxy, does not say that the run is missing.
      if (!Array.isArray(body["results"]))
        throw new ProviderError("internal", "The list of predictions is none.");
      const results = body["results"].map(readRecord);
      const found = await findByWebhook(access, { results, webhookUrl, submittedAt }, signal);
      if (found) return found;
      const isPast = results.some((prediction) => isBefore(prediction, submittedAt));
      const next = readText(body["next"]);
      // The key goes only to the provider itself.
      url = isPast || next === null ? null : next;
      if (url !== null && !url.startsWith(`${access.baseUrl}/`))
        throw new ProviderError("internal", "The list of predictions goes on at another address.");
    }
    return null;
  },

  async verifyWebhook({ webhookSecret }, request) {
    if (webhookSecret !== null) verifyStandardWebhook(webhookSecret, request);
    return { externalId: namedId(readBody(request), "id") };
  },
};

type Prediction = Readonly<Record<string, unknown>>;

const clockSkewMs = 60_000;

function isBefore({ created_at: at }: Prediction, submittedAt: Date): boolean {
  return Date.parse(readText(at) ?? "") < submittedAt.getTime() - clockSkewMs;
}

/** Predictions of a list that are read one by one at most. */
const maxRead = 50;

interface Listed {
  readonly results: readonly Prediction[];
  readonly webhookUrl: string;
  readonly submittedAt: Date;
}

/**
 * The prediction with a webhook. The list leaves webhooks out by its documentation, where a prediction by itself has its own.
 * Throws `internal` where one that may be the lost one names no webhook at all: it may be the run that was paid for.
 */
async function findByWebhook(
  access: ProviderAccess,
  { results, webhookUrl, submittedAt }: Listed,
  signal: AbortSignal,
): Promise<RunHandle | null> {
  const named = results.find(({ webhook }) => webhook === webhookUrl);
  if (named) return handleOf(named);
  if (results.some((prediction) => "webhook" in prediction)) return null;
  const asked = results.filter((prediction) => !isBefore(prediction, submittedAt));
  if (asked.length > maxRead) throw new ProviderError("internal", "The list of predictions is too long.");
  let isUnclear = false;
  for (const { id } of asked) {
    const prediction = await readPrediction(access, readText(id) ?? "", signal);
    if (prediction["webhook"] === webhookUrl) return handleOf(prediction);
    isUnclear ||= !("webhook" in prediction);
  }
  if (isUnclear) throw new ProviderError("internal", "The predictions name no webhooks.");
  return null;
}

function handleOf({ id }: Prediction): RunHandle {
  return { endpoint: "", externalId: readText(id) ?? "", urls: {} };
}

async function readPrediction(access: ProviderAccess, id: string, signal: AbortSignal): Promise<Prediction> {
  const url = `${access.baseUrl}/predictions/${encodeURIComponent(id)}`;
  const answer = await callProvider({
    method: "GET",
    url,
    headers: auth(access),
    signal,
    maxBytes: maxPictureBytes,
  });
  if (answer.status !== 200 || answer.json === undefined) throw refusal(answer, false);
  return readRecord(answer.json);
}

/** A data URI, or the address of an upload when the picture is larger. */
async function toAddress(
  access: ProviderAccess,
  picture: ProviderPicture,
  signal: AbortSignal,
): Promise<string> {
  if (picture.bytes.length <= maxDataUriBytes) return toDataUri(picture);
  const form = new FormData();
  form.set("content", new Blob([new Uint8Array(picture.bytes)], { type: picture.mime }), "picture");
  const answer = await callProvider({
    method: "POST",
    url: `${access.baseUrl}/files`,
    headers: auth(access),
    body: form,
    signal,
    timeoutMs: uploadTimeoutMs,
  });
  const address = readText(readRecord(readRecord(answer.json)["urls"])["get"]);
  if (answer.status >= 300 || address === null) throw refusal(answer, false);
  return address;
}

function toRun(prediction: Prediction): RunState {
  switch (prediction["status"]) {
    case "starting":
      return { state: "queued", progress: null };
    case "processing":
      return { state: "running", progress: null };
    case "succeeded":
      return succeeded(prediction);
    case "canceled":
    case "aborted":
      return { state: "cancelled", costUsd: null };
    case "failed":
      return failed(sentenceOf(prediction["error"]) ?? "The prediction failed.");
    default:
      return { state: "running", progress: null };
  }
}

/** Input and output of a prediction are removed after an hour. */
function succeeded(prediction: Prediction): RunState {
  const made = madeRun(prediction["output"], prediction);
  const isEmpty = made.state === "succeeded" && made.outputs.length === 0;
  if (prediction["data_removed"] !== true || !isEmpty) return made;
  const error = new ProviderError("lost", "Replicate has removed the result.");
  return { state: "failed", error, costUsd: null };
}

function failed(text: string): RunState {
  return failedRun(text, { otherwise: interrupted.test(text) ? "transient" : "internal" });
}

const interrupted = /code: PA\b|interrupted|CUDA out of memory/i;

function refusal(answer: ProviderAnswer, isSubmit: boolean): ProviderError {
  const error = statusError(answer, isSubmit);
  const { words } = error;
  // A version that is gone, or belongs to somebody else.
  if (isSubmit && answer.status === 422 && /version/i.test(words ?? ""))
    return new ProviderError("model", error.message, { words });
  return error;
}
