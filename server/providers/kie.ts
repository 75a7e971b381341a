import { createHmac, timingSafeEqual } from "node:crypto";
import { parseForeignJson } from "../platform/index.ts";
import { callProvider, maxPictureBytes, type ProviderAnswer, retryAfterOf } from "./http.ts";
import { outputsOf } from "./outputs.ts";
import { encodePictures, toDataUri } from "./pictures.ts";
import {
  type ProviderAccess,
  type ProviderClient,
  ProviderError,
  type ProviderErrorClass,
  type ProviderPicture,
  type RunState,
} from "./port.ts";
import { namedId, readBody, readRecord, readText } from "./read.ts";
import { failedRun, kindOfRefusal, madeRun, statusError } from "./refusals.ts";
import { sentenceOf } from "./sentences.ts";
import { checkTimestamp } from "./standard-webhooks.ts";

const auth = ({ apiKey }: ProviderAccess) => ({ authorization: `Bearer ${apiKey}` });
const uploadTimeoutMs = 60_000;
/** An account may start 20 tasks in this time; a refusal does not name it. */
const rateWindowMs = 10_000;

/** Kie.ai: tasks. The HTTP status is 200 also for errors; the `code` of the body counts. No cancel. */
export const kie: ProviderClient = {
  name: "kie",
  isAsynchronous: true,
  isIdempotent: () => false,
  freeCall: (access) => ({ url: `${access.baseUrl}/api/v1/chat/credit`, headers: auth(access) }),

  async submit(access, { endpoint, input, webhookUrl, beforePaid }, signal) {
    const encoded = await encodePictures(input, (picture) => upload(access, picture, signal));
    const answer = await callProvider({
      method: "POST",
      url: `${access.baseUrl}/api/v1/jobs/createTask`,
      headers: auth(access),
      body: { model: endpoint, ...(webhookUrl === null ? {} : { callBackUrl: webhookUrl }), input: encoded },
      signal,
      beforePaid,
    });
    const data = readData(answer, true);
    const externalId = readText(data["taskId"]) ?? readText(data["task_id"]);
    if (externalId === null) throw new ProviderError("lost", "The answer names no task.");
    return { handle: { endpoint, externalId, urls: {} }, run: { state: "queued", progress: null } };
  },

  async get(access, { externalId }, signal) {
    const url = `${access.baseUrl}/api/v1/jobs/recordInfo?taskId=${encodeURIComponent(externalId)}`;
    const answer = await callProvider({
      method: "GET",
      url,
      headers: auth(access),
      signal,
      maxBytes: maxPictureBytes,
    });
    return toRun(readData(answer, false));
  },

  cancel: () => Promise.resolve("unsupported"),

  async verifyWebhook({ webhookSecret }, request) {
    const data = readRecord(readBody(request)["data"]);
    const externalId = namedId(data, readText(data["taskId"]) === null ? "task_id" : "taskId");
    if (webhookSecret !== null) verifySignature(webhookSecret, externalId, request.headers);
    return { externalId };
  },
};

/** The signature covers the id and the time, not the body: the task is always read again. */
function verifySignature(secret: string, taskId: string, headers: Readonly<Record<string, string>>): void {
  const timestamp = headers["x-webhook-timestamp"] ?? "";
  const given = Buffer.from(headers["x-webhook-signature"] ?? "", "base64");
  checkTimestamp(timestamp);
  const expected = createHmac("sha256", secret).update(`${taskId}.${timestamp}`).digest();
  if (given.length !== expected.length || !timingSafeEqual(given, expected))
    throw new ProviderError("auth", "The signature of the webhook is wrong.");
}

/** Pictures are sent to another host first, which names their address. */
async function upload(
  access: ProviderAccess,
  picture: ProviderPicture,
  signal: AbortSignal,
): Promise<string> {
  const { origin, host } = new URL(access.baseUrl);
  const uploads = host === "api.kie.ai" ? "https://kieai.redpandaai.co" : origin;
  const answer = await callProvider({
    method: "POST",
    url: `${uploads}/api/file-base64-upload`,
    headers: { ...auth(access), "user-agent": "Mozilla/5.0 (compatible; Atelier)" },
    body: {
      base64Data: toDataUri(picture),
      uploadPath: "atelier",
      fileName: `input.${picture.mime.slice("image/".length)}`,
    },
    signal,
    timeoutMs: uploadTimeoutMs,
  });
  // Its firewall refuses some callers with a page, which says nothing about the key.
  if (answer.status === 403 && answer.json === undefined)
    throw new ProviderError("transient", `The upload was refused: HTTP 403: ${answer.excerpt}`);
  const address = readText(readData(answer, false)["downloadUrl"]);
  if (address === null) throw new ProviderError("transient", "The upload has no address.");
  return address;
}

const codes: Readonly<Record<number, ProviderErrorClass>> = {
  400: "input",
  401: "auth",
  402: "credit",
  404: "input",
  408: "timeout",
  422: "input",
  429: "rate",
  433: "rate",
  455: "transient",
  500: "transient",
  501: "internal",
  505: "transient",
};

function readData(answer: ProviderAnswer, isSubmit: boolean): Readonly<Record<string, unknown>> {
  const body = readRecord(answer.json);
  const code = readCode(body["code"]);
  if (answer.status !== 200 || code === null) throw statusError(answer, isSubmit);
  if (code === 200) return readRecord(body["data"]);
  const words = sentenceOf(body["msg"]);
  const retryAfterMs = retryAfterOf(answer) ?? (code === 429 ? rateWindowMs : null);
  const errorClass = classOf(code, { isSubmit, words: words ?? "", sent: answer.sent });
  throw new ProviderError(errorClass, `code ${code}: ${words ?? ""}`, { retryAfterMs, words });
}

/** A number, also as text. */
function readCode(code: unknown): number | null {
  if (typeof code === "number") return code;
  return typeof code === "string" && /^\d{3}$/.test(code) ? Number(code) : null;
}

function classOf(
  code: number,
  { isSubmit, words, sent }: { readonly isSubmit: boolean; readonly words: string; readonly sent: unknown },
): ProviderErrorClass {
  const kind = kindOfRefusal(words, sent);
  if (kind === "credit" || kind === "auth") return kind;
  const known = codes[code] ?? "internal";
  const isAboutInput = known === "input" || known === "internal";
  if (isAboutInput && kind === "moderation") return "moderation";
  if (isSubmit && (code === 404 || (known === "input" && kind === "model"))) return "model";
  return known;
}

function toRun(data: Readonly<Record<string, unknown>>): RunState {
  switch (data["state"]) {
    case "success":
      return madeRun(resultOf(data), { ...readRecord(resultOf(data)), ...data });
    case "fail": {
      const text = sentenceOf(data["failMsg"]) ?? "The task failed.";
      const isOfInput = ["400", "422"].includes(String(data["failCode"]));
      return failedRun(text, { otherwise: isOfInput ? "input" : "internal" });
    }
    case "generating":
      return { state: "running", progress: null };
    default:
      return { state: "queued", progress: null };
  }
}

/** The result is JSON inside of a text, or what it would be. */
function resultOf({ resultJson }: Readonly<Record<string, unknown>>): unknown {
  if (typeof resultJson !== "string") return resultJson;
  return parseForeignJson(resultJson) ?? (outputsOf(resultJson).length > 0 ? resultJson : null);
}
