import {
  callProvider,
  maxPictureBytes as maxBytes,
  maxRetryAfterMs,
  type ProviderAnswer,
  retryAfterInWords,
  retryAfterOf,
} from "./http.ts";
import { bytesOfText, outputsOf } from "./outputs.ts";
import { isPicture, toBase64 } from "./pictures.ts";
import {
  type InputValue,
  type ProviderClient,
  ProviderError,
  type ProviderErrorClass,
  type ProviderOutput,
  type RunState,
} from "./port.ts";
import { readError, readRecord, readText } from "./read.ts";
import { isContentRefusal, statusError } from "./refusals.ts";

const timeoutMs = 150_000;

/**
 * Google Gemini images: one request, which answers with the picture. In the input, `parts` is the list of texts and
 * pictures, and `imageConfig` goes to the API as it is.
 */
export const google: ProviderClient = {
  name: "google",
  isAsynchronous: false,
  isIdempotent: () => false,
  freeCall: (access) => ({
    url: `${access.baseUrl}/models?pageSize=1`,
    headers: { "x-goog-api-key": access.apiKey },
  }),

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
    const handle = { endpoint, externalId: idempotencyKey, urls: {} };
    if (answer.picture)
      return { handle, run: { state: "succeeded", outputs: [{ bytes: answer.picture }], costUsd: null } };
    // A page of a proxy says nothing about the picture behind it, which may be paid.
    if (answer.json === undefined) throw new ProviderError("lost", "The answer is no JSON.");
    return { handle, run: toRun(answer.json) };
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

/**
 * An answer without a picture is a normal failure. The reason that Google names is mostly about this content, so that it
 * says nothing about other requests; without any reason the answer is broken.
 */
function toRun(json: unknown): RunState {
  const body = readRecord(json);
  const feedback = readRecord(eitherOf(body, "promptFeedback"));
  const candidates = Array.isArray(body["candidates"]) ? body["candidates"].map(readRecord) : [];
  const parts = candidates.flatMap((candidate) => partsOf(candidate));
  const blockReason = readText(eitherOf(feedback, "blockReason"));
  const finishReason = firstText(candidates, "finishReason");
  const reason = blockReason ?? finishReason ?? null;
  const isRefused = isSafetyReason(reason ?? "") || candidates.some(isBlocked);
  const said = parts
    .flatMap(({ text, thought }) => (thought === true ? [] : (readText(text) ?? [])))
    .join(" ");
  const outputs = picturesOf(parts, {
    reason,
    said,
    hasCounted: countsPicture(eitherOf(body, "usageMetadata")),
  });
  if (outputs.length > 0 && !isRefused)
    return { state: "succeeded", outputs: outputs.slice(-1), costUsd: null };
  const words =
    readText(said) ??
    firstText(candidates, "finishMessage") ??
    readText(eitherOf(feedback, "blockReasonMessage"));
  return { state: "failed", error: withoutPicture({ reason, words, isRefused }), costUsd: null };
}

type Fields = Readonly<Record<string, unknown>>;

/** A member that some gateways name with underscores. */
const eitherOf = (fields: Fields, name: string): unknown =>
  fields[name] ?? fields[name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)];

const firstText = (all: readonly Fields[], name: string) =>
  all.map((one) => readText(eitherOf(one, name))).find((text) => text !== null);

function partsOf(candidate: Readonly<Record<string, unknown>>) {
  const { parts } = readRecord(candidate["content"]);
  return Array.isArray(parts) ? parts.map(readRecord) : [];
}

type Part = Readonly<Record<string, unknown>>;

/** How models write that they will not, and how they hand over what they made. */
const refusing =
  /\b(?:unable|not able|not allowed) to\b|\b(?:can(?:no|['’])?t|can not|could(?:n['’]t| not)|won['’]t|will not)\s+(?:\w+\s+){0,2}(?:creat|generat|mak|draw|produc|edit|help|assist|fulfil|comply|process|depict|show|provide|do)/i;
const handing = /\bhere(?:['’]s| is| are)\b/i;

const refuses = (said: string) => (refusing.test(said) || isContentRefusal(said)) && !handing.test(said);

interface Ending {
  readonly reason: string | null;
  /** What the model says, without its thoughts. */
  readonly said: string;
  readonly hasCounted: boolean | null;
}

/**
 * Whether Google counts a picture among what it answered, where its thoughts are not counted; null where it does not say.
 * Unlike the model's words it is in no language.
 */
function countsPicture(usage: unknown): boolean | null {
  const details = eitherOf(readRecord(usage), "candidatesTokensDetails");
  const counts = Array.isArray(details) ? details.map(readRecord) : [];
  if (counts.length === 0) return null;
  return counts.some((count) => count["modality"] === "IMAGE" && eitherOf(count, "tokenCount") !== 0);
}

/** Drafts of the model's thinking are no results, unless it ended well with nothing else: some models mark all as thoughts. */
function picturesOf(parts: readonly Part[], { reason, said, hasCounted }: Ending): ProviderOutput[] {
  const made = parts.filter(({ thought }) => thought !== true).flatMap(toOutput);
  const hasEndedWell = (reason === null || reason === "STOP") && (hasCounted ?? !refuses(said));
  return made.length === 0 && hasEndedWell ? parts.flatMap(toOutput) : made;
}

/** A picture inside the answer or at an address. */
function toOutput(part: Part): ProviderOutput[] {
  const { inlineData, inline_data: snake, fileData, file_data: snakeFile } = part;
  const data = readText(readRecord(inlineData ?? snake)["data"]);
  const bytes = data === null ? null : bytesOfText(data);
  return bytes ? [{ bytes }] : outputsOf(fileData ?? snakeFile ?? null);
}

function isBlocked(candidate: Fields): boolean {
  const ratings = eitherOf(candidate, "safetyRatings");
  return Array.isArray(ratings) && ratings.some((rating) => readRecord(rating)["blocked"] === true);
}

const isSafetyReason = (reason: string) =>
  /SAFETY|PROHIBITED|BLOCKLIST|SPII|RECITATION|JAILBREAK/.test(reason);

/** The model has lost its way, whatever was asked of it: it called a tool that there is not, or wrote what cannot be read. */
const isAstray = (reason: string | null) =>
  /^(?:MALFORMED_|UNEXPECTED_TOOL_CALL|TOO_MANY_TOOL_CALLS|MISSING_THOUGHT_SIGNATURE|FINISH_REASON_UNSPECIFIED)/.test(
    reason ?? "",
  );

interface Missing {
  readonly reason: string | null;
  readonly words: string | null;
  readonly isRefused: boolean;
}

/** `STOP` without a word is a fault of Google; too long an answer is about the request, and no refusal. */
function withoutPicture({ reason, words, isRefused }: Missing): ProviderError {
  const message = `No picture: ${reason ?? "no reason"}`;
  const isSilent = words === null && (reason === null || reason === "STOP");
  if ((isSilent || isAstray(reason)) && !isRefused) return new ProviderError("transient", message);
  const isTooLong = reason === "MAX_TOKENS" && !isRefused;
  return new ProviderError(isTooLong ? "input" : "moderation", message, { words });
}

/** 499: given up by Google itself, which charges for answers alone. */
const classes: Readonly<Record<number, ProviderErrorClass>> = { 499: "transient", 503: "capacity" };

function refusal(answer: ProviderAnswer): ProviderError {
  const error = readError(answer.json);
  const text = readText(error["message"]);
  const message = `HTTP ${answer.status}: ${text ?? answer.excerpt}`;
  const details = Array.isArray(error["details"]) ? error["details"].map(readRecord) : [];
  const isOperators = (pattern: RegExp) => answer.status < 500 && pattern.test(text ?? "");
  // A quota of nothing, such as that of pictures without billing, is never filled again.
  if (isOperators(/\bbilling\b|credits? (?:is|are) depleted|limit: 0\b/i))
    return new ProviderError("credit", message);
  if (answer.status === 429)
    return new ProviderError("rate", message, {
      retryAfterMs: waitOf(answer, details) ?? retryAfterInWords(text ?? ""),
    });
  const byStatus = classes[answer.status];
  if (byStatus) return new ProviderError(byStatus, message, { retryAfterMs: retryAfterOf(answer) });
  // A wrong key is answered with 400 INVALID_ARGUMENT, as a wrong field is.
  const isOfKey = details.some(({ reason }) => /^(?:API_KEY|CONSUMER|SERVICE)_/.test(readText(reason) ?? ""));
  if (isOfKey || (answer.status === 400 && error["status"] === "FAILED_PRECONDITION"))
    return new ProviderError("auth", message, { words: text });
  return statusError(answer, true);
}

/** The delay beside the quota of a day is that of another one. */
function waitOf(
  answer: ProviderAnswer,
  details: readonly Readonly<Record<string, unknown>>[],
): number | null {
  if (JSON.stringify(details).includes("PerDay")) return maxRetryAfterMs;
  const delay = details.map((detail) => readText(detail["retryDelay"])).find((given) => given !== null);
  const delayMs = delay
    ? retryAfterOf({ ...answer, headers: { "retry-after": delay.replace(/s$/, "") } })
    : null;
  return delayMs ?? retryAfterOf(answer);
}
