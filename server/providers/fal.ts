import { createHash, createPublicKey, verify } from "node:crypto";
import { callProvider, maxPictureBytes, type ProviderAnswer, retryAfterOf } from "./http.ts";
import { encodePictures, toDataUri } from "./pictures.ts";
import {
  type ProviderAccess,
  type ProviderClient,
  ProviderError,
  type ProviderErrorClass,
  type RunHandle,
  type RunState,
  type WebhookRequest,
} from "./port.ts";
import { namedId, readBody, readRecord, readText } from "./read.ts";
import { failedRun, kindOfRefusal, madeRun, statusError } from "./refusals.ts";
import { sentenceOf } from "./sentences.ts";
import { checkTimestamp } from "./standard-webhooks.ts";

const auth = ({ apiKey }: ProviderAccess) => ({ authorization: `Key ${apiKey}` });

/**
 * fal: a queue that never refuses for load. `COMPLETED` means that the run has ended, well or not; the result says which.
 * The addresses of a run come from the answer to its submit: they leave out a part of the endpoint.
 */
export const fal: ProviderClient = {
  name: "fal",
  isAsynchronous: true,
  isIdempotent: () => false,

  async submit(access, { endpoint, input, webhookUrl, beforePaid }, signal) {
    const url = new URL(`${access.baseUrl}/${endpoint}`);
    if (webhookUrl !== null) url.searchParams.set("fal_webhook", webhookUrl);
    const answer = await callProvider({
      method: "POST",
      url: url.href,
      headers: auth(access),
      body: await encodePictures(input, toDataUri),
      signal,
      beforePaid,
    });
    if (!isTaken.includes(answer.status)) throw refusal(answer, true);
    const body = readRecord(answer.json);
    const externalId = readText(body["request_id"]);
    if (externalId === null) throw new ProviderError("lost", "The answer names no request.");
    const urls = Object.fromEntries(
      ["status_url", "response_url", "cancel_url"].flatMap((name) => {
        const given = readText(body[name]);
        return given === null ? [] : [[name, given]];
      }),
    );
    return { handle: { endpoint, externalId, urls }, run: { state: "queued", progress: null } };
  },

  async get(access, handle, signal) {
    const call = { method: "GET", headers: auth(access), signal } as const;
    const status = await callProvider({ ...call, url: addressOf(access, handle, "status") });
    const body = readRecord(status.json);
    const open = openRun(status);
    if (open) return open;
    if (status.status !== 200) throw refusal(status, false);
    const failed = failedStatus(body, handle.externalId);
    if (failed) return failed;
    // A page of a proxy says nothing about the run.
    if (body["status"] !== "COMPLETED") throw statusError(status, false);
    const url = addressOf(access, handle, "response");
    const result = await callProvider({ ...call, url, maxBytes: maxPictureBytes });
    if (result.status === 200 && result.picture)
      return { state: "succeeded", outputs: [{ bytes: result.picture }], costUsd: null };
    if (result.json === undefined) throw statusError(result, false);
    if (isNoSuchModel(result)) return { state: "failed", error: noSuchModel(result), costUsd: null };
    return result.status === 200 ? madeRun(result.json) : endedBadly(result);
  },

  async cancel(access, handle, signal) {
    const url = addressOf(access, handle, "cancel");
    const answer = await callProvider({ method: "PUT", url, headers: auth(access), signal });
    if (answer.status === 200 || answer.status === 202) return "requested";
    if (answer.status === 400 || answer.status === 404) return "too_late";
    throw refusal(answer, false);
  },

  async verifyWebhook(access, request, signal) {
    await verifySignature(access, request, signal);
    return { externalId: namedId(readBody(request), "request_id") };
  },
};

/** fal says 200, and servers of its kind as they should. */
const isTaken: readonly number[] = [200, 201, 202];
const openStates: readonly string[] = ["IN_QUEUE", "IN_PROGRESS"];

/** A run that goes on, by the answer about its status; null for another. */
function openRun({ status, json }: ProviderAnswer): RunState | null {
  const state = readText(readRecord(json)["status"]) ?? "";
  if (status !== 202 && (status !== 200 || !openStates.includes(state))) return null;
  return { state: state === "IN_QUEUE" ? "queued" : "running", progress: null };
}

/** The address that fal gave, or, for a run that was found by its webhook, the one that it would give. */
function addressOf(
  { baseUrl }: ProviderAccess,
  { endpoint, externalId, urls }: RunHandle,
  what: "status" | "response" | "cancel",
): string {
  const given = urls[`${what}_url`];
  // The key goes only to the provider itself.
  if (given !== undefined && new URL(given).origin === new URL(baseUrl).origin) return given;
  const [owner, app] = endpoint.split("/");
  const run = `${baseUrl}/${owner}/${app}/requests/${encodeURIComponent(externalId)}`;
  return what === "response" ? run : `${run}/${what}`;
}

/**
 * An end without a result. The queue of fal says COMPLETED for it as well; its webhooks, and servers of its kind, name it.
 * A gateway writes such a status too, of a call that it gave up: only with the id of the run it is that of the run.
 */
function failedStatus(body: Readonly<Record<string, unknown>>, externalId: string): RunState | null {
  const { status, error_type: type, request_id: id } = body;
  if (/^CANCELL?ED$/.test(String(status)) && id === externalId) return { state: "cancelled", costUsd: null };
  const isNamed = (status === "FAILED" || status === "ERROR") && id === externalId;
  const message = readText(body["error"]) ?? (isNamed ? (sentenceOf(body) ?? "The run failed.") : null);
  return message === null || (status !== "COMPLETED" && !isNamed) ? null : endedAs(readText(type), message);
}

function endedAs(type: string | null, message: string): RunState {
  if (type === cancelledType) return { state: "cancelled", costUsd: null };
  return failedRun(message, { otherwise: classOfType(type) });
}

/** The queue takes calls for any path below an app; the app itself then knows none of that name, also with 200. */
function isNoSuchModel(answer: ProviderAnswer): boolean {
  const isOfApp = answer.status === 200 || answer.status === 404;
  return isOfApp && /^Path \/\S* not found$/i.test(readFailure(answer).message);
}

function noSuchModel(answer: ProviderAnswer): ProviderError {
  const { message } = readFailure(answer);
  return new ProviderError("model", message, { words: message });
}

/** Refusals of the queue and of what stands before it: they say nothing about the run. */
const ofQueue: readonly number[] = [401, 403, 404, 408, 410, 429];

/** The result of a run that failed is the model's own error. */
function endedBadly(answer: ProviderAnswer): RunState {
  const error = refusal(answer, false);
  const { type } = readFailure(answer);
  if (ofQueue.includes(answer.status) || (answer.status > 500 && type === null)) throw error;
  if (type === cancelledType) return { state: "cancelled", costUsd: null };
  return { state: "failed", error, costUsd: null };
}

/** The run was cancelled by its caller: neither a result nor a failure. */
const cancelledType = "client_cancelled";

const classes: Readonly<Record<string, ProviderErrorClass>> = {
  content_policy_violation: "moderation",
  // The model answered without a picture, as it does when it refuses.
  no_media_generated: "moderation",
  image_too_large: "input",
  image_too_small: "input",
  file_download_error: "input",
  generation_timeout: "timeout",
  request_timeout: "timeout",
  startup_timeout: "timeout",
  downstream_service_error: "transient",
  downstream_service_unavailable: "transient",
  internal_error: "internal",
  bad_request: "input",
};

function classOfType(type: string | null): ProviderErrorClass {
  if (type === null) return "internal";
  return classes[type] ?? (type.startsWith("runner_") ? "transient" : "internal");
}

/** Its words about a model are about a field of that model. */
function classOfWords(words: string, sent: unknown): ProviderErrorClass {
  const kind = kindOfRefusal(words, sent);
  return kind === null || kind === "model" ? "input" : kind;
}

function refusal(answer: ProviderAnswer, isSubmit: boolean): ProviderError {
  const { type, message } = readFailure(answer);
  const known = classes[type ?? ""];
  if (answer.status === 422 || (answer.status === 400 && known !== undefined)) {
    const errorClass = known ?? classOfWords(message, answer.sent);
    return new ProviderError(errorClass, message, { words: message });
  }
  if (answer.status === 403 && /balance/i.test(message)) return new ProviderError("credit", message);
  if (type !== null && answer.status >= 500 && !isSubmit)
    return new ProviderError(classOfType(type), message, { retryAfterMs: retryAfterOf(answer) });
  return statusError(answer, isSubmit);
}

/** A model names the type of an error in a list, the queue beside its text or in a header. */
function readFailure({ json, headers, excerpt }: ProviderAnswer) {
  const { detail, error_type: named } = readRecord(json);
  const one: unknown = Array.isArray(detail) ? detail[0] : detail;
  const first = readRecord(one);
  return {
    type: readText(first["type"]) ?? readText(named) ?? headers["x-fal-error-type"] ?? null,
    message: readText(first["msg"]) ?? readText(one) ?? excerpt,
  };
}

interface KeySet {
  readonly keys: readonly string[];
  readonly readAtMs: number;
}

const keySets = new Map<string, KeySet>();
const keySetMs = 24 * 3_600_000;
/** An unknown signature reads the keys again, at most this often: they are exchanged from time to time. */
const rereadMs = 60_000;

/** Ed25519 over the ids, the time and the hash of the body, with one of the published keys. Throws class `auth`. */
async function verifySignature(
  access: ProviderAccess,
  { rawBody, headers }: WebhookRequest,
  signal: AbortSignal,
): Promise<void> {
  const [id, user, timestamp, signature] = ["request-id", "user-id", "timestamp", "signature"].map(
    (name) => headers[`x-fal-webhook-${name}`] ?? "",
  );
  if (!id || !timestamp || !signature) throw new ProviderError("auth", "The webhook is not signed.");
  checkTimestamp(timestamp);
  const message = [id, user, timestamp, createHash("sha256").update(rawBody).digest("hex")].join("\n");
  const isSignedBy = (x: string) => isSigned(x, message, signature);
  const url = keySetUrl(access);
  const known = keySets.get(url);
  const nowMs = performance.now();
  if (known && nowMs - known.readAtMs < keySetMs && known.keys.some(isSignedBy)) return;
  if (!known || nowMs - known.readAtMs > rereadMs) {
    const read = await readKeys(url, signal);
    keySets.set(url, { keys: read, readAtMs: nowMs });
    if (read.some(isSignedBy)) return;
  }
  throw new ProviderError("auth", "The signature of the webhook is wrong.");
}

function isSigned(x: string, message: string, signature: string): boolean {
  try {
    const key = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
    return verify(null, Buffer.from(message), key, Buffer.from(signature, "hex"));
  } catch {
    return false;
  }
}

/** The keys are served by another host than the queue; a server of one's own serves both. */
function keySetUrl({ baseUrl }: ProviderAccess): string {
  const { host } = new URL(baseUrl);
  const origin = host === "queue.fal.run" || host === "queue.falrun.com" ? "https://rest.fal.ai" : baseUrl;
  return `${origin}/.well-known/jwks.json`;
}

/** Throws when there are none, so that keys that were read before are kept. */
async function readKeys(url: string, signal: AbortSignal): Promise<string[]> {
  const answer = await callProvider({ method: "GET", url, headers: {}, signal, timeoutMs: 5_000 });
  const { keys: list } = readRecord(answer.json);
  const keys = (Array.isArray(list) ? list : []).flatMap((key) => readText(readRecord(key)["x"]) ?? []);
  if (answer.status !== 200 || keys.length === 0)
    throw new ProviderError("transient", `The keys of the webhooks cannot be read: HTTP ${answer.status}`);
  return keys;
}
