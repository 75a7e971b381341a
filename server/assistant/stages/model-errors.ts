import type { APICallError } from "ai";
import { DrizzleQueryError } from "drizzle-orm";
import { z } from "zod";
import { issuesOf, retryAfterInText, retryAfterOf } from "../../platform/index.ts";
import { kindOfRefusal } from "../../providers/index.ts";

/**
 * Why a call of a model failed. `timeout`, `unavailable` and `rate_limited` pass by themselves; `invalid_output`: the
 * answer has not the form that was asked for; `over_limit`: too much was sent; `refused`: the key or the request;
 * `over_budget`: a cap of spending; `not_api`: what answers is no language model; `empty`: an answer without words;
 * `no_pictures`: the model or its server takes no pictures.
 */
export type ModelErrorClass =
  | "timeout"
  | "unavailable"
  | "rate_limited"
  | "invalid_output"
  | "over_limit"
  | "refused"
  | "over_budget"
  | "not_api"
  | "empty"
  | "no_pictures";

/**
 * What fails with a call: the part that was sent alone, such as one text; all parts of its user; or every call, until the
 * service works again.
 */
type Reach = "part" | "owner" | "all";

/** Of a class; a refusal of the key, or for want of money, is one of every call. */
const usualReach: Readonly<Record<ModelErrorClass, Reach>> = {
  timeout: "all",
  unavailable: "all",
  rate_limited: "all",
  invalid_output: "part",
  over_limit: "part",
  refused: "part",
  over_budget: "owner",
  not_api: "all",
  empty: "part",
  no_pictures: "all",
};

/** What the user reads. */
const messages: Readonly<Record<ModelErrorClass, string>> = {
  timeout: "The language model did not answer in time.",
  unavailable: "The language model cannot be reached at the moment.",
  rate_limited: "The language model is limited at the moment. Try again in a few minutes.",
  invalid_output: "The language model gave an answer that cannot be read.",
  over_limit: "The question with its context is too long for the language model.",
  refused: "The language model refused the request. The admin finds the reason in the log.",
  over_budget: "The limit of spending is reached.",
  not_api: "What answers at the address of the language model is none. The admin checks the address.",
  empty: "The language model gave an empty answer. Ask again, or in other words.",
  no_pictures:
    "The model takes no pictures. Name one that does in LLM_VISION_MODEL, or start its server with what it needs for pictures (llama.cpp: --mmproj).",
};

interface Options {
  readonly cause?: unknown;
  readonly retryAfterMs?: number | null;
  readonly reach?: Reach;
  readonly usage?: ModelError["usage"];
}

/** A failed call of a model. The message is for the user; the cause is for the log. */
export class ModelError extends Error {
  readonly class: ModelErrorClass;
  readonly reach: Reach;
  readonly retryAfterMs: number | null;
  /** What the model counted, when it answered. */
  readonly usage: {
    readonly inputTokens: number | undefined;
    readonly outputTokens: number | undefined;
  } | null;

  constructor(errorClass: ModelErrorClass, message?: string, options: Options = {}) {
    super(message ?? messages[errorClass], { cause: options.cause });
    this.name = "ModelError";
    this.class = errorClass;
    this.reach = options.reach ?? usualReach[errorClass];
    this.retryAfterMs = options.retryAfterMs ?? null;
    this.usage = options.usage ?? null;
  }
}

const lateMessages = {
  late: messages.timeout,
  silent: "The language model fell silent in the middle of its answer.",
} as const;

/** Classifies what the SDK threw. What is no failure of a call, but a fault of this program, stays as it is. */
export async function toModelError(error: unknown, over: keyof typeof lateMessages | null): Promise<unknown> {
  if (error instanceof ModelError) return error;
  if (over) return new ModelError("timeout", lateMessages[over], { cause: error });
  const { AISDKError, APICallError, InvalidResponseDataError, StreamProviderError } = await import("ai");
  if (APICallError.isInstance(error)) return ofAnswer(error);
  if (StreamProviderError.isInstance(error)) {
    const told = { statusCode: error.statusCode, message: error.message };
    return new ModelError(classOf(told), undefined, { cause: error, ...reachFor(told) });
  }
  // A stream that ended in the middle, or a part of one that belongs to nothing before it.
  if (isOfNetwork(error) || InvalidResponseDataError.isInstance(error))
    return new ModelError("unavailable", undefined, { cause: error });
  if (AISDKError.isInstance(error)) return new ModelError("not_api", undefined, { cause: error });
  return error;
}

/** An answer without the JSON that was asked for. */
export class UnreadableJson extends Error {
  readonly text: string;
  readonly isCut: boolean;

  constructor(text: string, { isCut, cause }: { readonly isCut: boolean; readonly cause: unknown }) {
    super("The answer holds no JSON object.", { cause });
    this.name = "UnreadableJson";
    this.text = text;
    this.isCut = isCut;
  }
}

/** An answer that has not the form that was asked for, and why. */
export interface Unreadable {
  readonly text: string;
  readonly reason: string;
}

/** What a model answered instead of the JSON that was asked for; null for all other failures. */
export function unreadableOf(error: ModelError): Unreadable | null {
  if (error.class !== "invalid_output") return null;
  const { cause } = error;
  if (!(cause instanceof UnreadableJson)) return { text: "", reason: error.message };
  return {
    text: cause.text,
    reason: cause.isCut ? "The answer reached its limit of tokens." : reasonOf(cause),
  };
}

/** The innermost cause says it best: a field of the form, or a character of the JSON. */
function reasonOf(error: Error): string {
  let inner = error;
  while (inner.cause instanceof Error) inner = inner.cause;
  if (!(inner instanceof z.ZodError)) return inner.message;
  return issuesOf(inner)
    .map(({ path, message }) => (path === "" ? message : `${path}: ${message}`))
    .join("; ");
}

/** How servers write that the question and its context are longer than the model takes. */
const contextWords: readonly RegExp[] = [
  /context.{0,30}(?:length|window|size|limit|overflow)/i,
  /exceed.{0,40}(?:context|tokens)/i,
  /too (?:long|large|many tokens)/i,
  /max(?:imum|_new).{0,20}tokens.{0,12}(?:must|is|of|:|\d)/i,
  /n_ctx/i,
  /tokens to keep/i,
  /input tokens/i,
  /max_seq_len/i,
  /\b(?:prompt|input)\b.{0,20}\blength\b(?!.{0,60}\bat least\b).{0,60}(?:max|exceed|greater|longer|larger|limit|less than|\bover\b|allowed|>|\[\d)/i,
  /max(?:imum)? (?:prompt|input) length/i,
  /model token limit/i,
  /reduce the length of/i,
];
/** Statuses with which servers refuse what is too long. */
const longStatuses: readonly number[] = [400, 413, 422, 500];

/** Whether an answer means that too much was sent. */
export function isTooLong(status: number, text: string): boolean {
  return status === 413 || (longStatuses.includes(status) && contextWords.some((form) => form.test(text)));
}

/** How servers say that they, or their model, take no pictures. */
const noPictureWords: readonly RegExp[] = [
  /\b(?:images?|vision|multi-?modal|pictures?)\b.{0,40}\b(?:is|are|was|were) (?:not|n't) (?:supported|allowed|accepted|enabled|available)/i,
  /\b(?:does|do|can)(?: ?not|n't) (?:currently )?(?:support|accept|allow|take) .{0,30}\b(?:images?|vision|multi-?modal|pictures?)\b/i,
  /\bnot an? (?:multi-?modal|vision)/i,
  /mmproj|not compiled for multi-?modal/i,
  /missing data required for image/i,
  /at most 0 images?/i,
  /(?:unknown variant|unsupported|invalid|unexpected).{0,60}image_url/i,
  /\b(?:image_url|input_image).{0,40}(?:only supported by|not supported|unsupported|invalid)/i,
  /no (?:image|vision) (?:encoder|processor|projector|input)/i,
  /\bcontent\b.{0,80}\b(?:must be|should be|expected)\b.{0,30}\bstring\b/is,
  /\btext[- ]only\b|\bonly (?:(?:supports?|accepts?|takes?) )?(?:["'`]text["'`]|text (?:content|inputs?|messages?|prompts?))/i,
  /\b(?:no|not have|lacks?|without)\b.{0,20}\b(?:vision|multi-?modal|image)\b.{0,10}\b(?:support|capabilit|adapter|model|tower)/i,
  /\b(?:vision|images?|multi-?modal)\b(?: \w+){0,2} (?:not (?:supported|loaded|enabled)|(?:is|are) disabled)/i,
  /\bnot (?:a )?multi-?modal\b|\brequires? an? (?:multi-?modal|vision)\b|no endpoints found that support image/i,
  /unsupported content\b|unexpected item type in content|invalid message content type|input should be 'text'/i,
  // Servers of texts in Python that expect one.
  /can only concatenate str|expected str instance|str type expected|must be str, not list|'list' object has no attribute/i,
];

/** Whether an answer to a request with a picture refuses it for the picture. */
export const takesNoPictures = (text: string): boolean => noPictureWords.some((form) => form.test(text));

const pictureTypes: readonly unknown[] = ["image_url", "input_image", "image"];

/** Whether a request has a picture: to a chat API, or to one of the vendors. */
export function hasPicture(body: unknown): boolean {
  const { messages, input, contents } = Object(body);
  return [messages, input, contents].flat().some((message: unknown) => {
    const { content, parts } = Object(message);
    return [content, parts]
      .flat()
      .some(
        (part: unknown) => pictureTypes.includes(Object(part).type) || Object(part).inlineData !== undefined,
      );
  });
}

/** How servers say that the model has just gone, or that none is there yet. */
const goneWords =
  /\bno models? (?:is |are )?(?:currently )?loaded\b|\bmodel (?:is |was |has been )?(?:not loaded|unloaded)\b|\bmodel has crashed\b|\b(?:failed|error|unable)(?: to)? load(?:ing)? (?:the )?(?:llm |language )?model\b|\bchannel error\b/i;
/** How they say that they know no such model: a matter of every call. */
const unknownWords =
  /\bmodel\b.{0,120}\b(?:not found|does not exist|doesn't exist|not exist)\b|\b(?:no such|unknown|invalid) model\b|\bmodel_not_found\b/i;

function ofAnswer(error: APICallError): ModelError {
  const errorClass = classOf(error);
  const retryAfterMs = errorClass === "rate_limited" ? waitOf(error) : null;
  return new ModelError(errorClass, undefined, { cause: error, retryAfterMs, ...reachFor(error) });
}

const limitedStatuses: readonly number[] = [429, 529];
/** With those of Cloudflare and other proxies. */
const lateStatuses: readonly number[] = [408, 504, 524, 598];

/** No status, a conflict, and a call that Google has given up itself. */
const passingStatuses: readonly number[] = [0, 409, 425, 499];

type Told = Pick<APICallError, "message"> &
  Partial<Pick<APICallError, "statusCode" | "responseBody" | "requestBodyValues">>;

/** OpenAI's code of an account without money. */
const isSpent = ({ message, responseBody = "" }: Told) =>
  /\binsufficient_quota\b/.test(`${message} ${responseBody}`);

/** What a refusal is about. The SDK reads no sentence out of a list, as Google's address with OpenAI's interface has it. */
const kindOf = ({ message, responseBody = "", requestBodyValues }: Told) =>
  kindOfRefusal(`${message} ${responseBody}`, requestBodyValues);

const isShut = (told: Told) => (told.statusCode ?? 0) < 499 && kindOf(told) === "auth";

const refusesPicture = ({ message, responseBody = "", requestBodyValues }: Told) =>
  hasPicture(requestBodyValues) && takesNoPictures(`${message} ${responseBody}`);

/** The key itself is refused, or its account has no money. */
const accountStatuses: readonly number[] = [401, 402];

/** Whether an answer that refuses would refuse every other call as well. */
function reachFor(told: Told): { readonly reach?: "all" } {
  if (classOf(told) !== "refused") return {};
  const kind = kindOf(told);
  const isOfAccount = isSpent(told) || kind === "credit" || kind === "auth";
  const isOfModel = unknownWords.test(`${told.message} ${told.responseBody ?? ""}`);
  return isOfAccount || isOfModel || accountStatuses.includes(told.statusCode ?? 0) ? { reach: "all" } : {};
}

/** Of an answer with a status; an error in the middle of a stream may have none. */
function classOf(told: Told): ModelErrorClass {
  const { statusCode = 0, responseBody = "", message } = told;
  // OpenAI says 429 of an account without money, or of one that it has shut, too: no wait mends it.
  if (isSpent(told) || isShut(told)) return "refused";
  if (refusesPicture(told)) return "no_pictures";
  if (limitedStatuses.includes(statusCode)) return "rate_limited";
  if (lateStatuses.includes(statusCode)) return "timeout";
  if (isTooLong(statusCode, `${message} ${responseBody}`)) return "over_limit";
  if (goneWords.test(`${message} ${responseBody}`)) return "unavailable";
  return passingStatuses.includes(statusCode) || statusCode >= 500 ? "unavailable" : "refused";
}

/** Gateways often leave the header out and say it in words. */
function waitOf({
  statusCode: status = 0,
  responseHeaders: headers = {},
  responseBody = "",
  message,
}: APICallError): number | null {
  return retryAfterOf({ status, headers }) ?? retryAfterInText(`${message}\n${responseBody}`);
}

/**
 * `fetch` throws TypeErrors for what the network did; a cut stream ends with a system error or the like. A statement of the
 * database has such a cause as well.
 */
function isOfNetwork(error: unknown): boolean {
  if (!(error instanceof Error) || error instanceof DrizzleQueryError) return false;
  if (error.name === "AbortError" || error.name === "TimeoutError") return true;
  const cause = error.cause instanceof Error ? error.cause : error;
  const isSystem = "code" in cause && typeof cause.code === "string";
  return isSystem || error.message === "fetch failed" || error.message === "terminated";
}
