import { type ProviderAnswer, retryAfterInWords, retryAfterOf } from "./http.ts";
import { flagsOf, outputsOf } from "./outputs.ts";
import { ProviderError, type ProviderErrorClass, type RunState } from "./port.ts";
import { readRecord } from "./read.ts";

/** How providers without codes for it write that a content was refused. */
const contentWords =
  /nsfw|content[ _-]?(?:polic|filter|moderation|safety)|\bsafety\b|responsible ai|(?<!case[- ])\bsensitive\b|\bflagged\b|\bprohibited\b|\binappropriate\b|\bexplicit (?:content|material)|\bviolat\w+[^.]{0,80}(?:polic|guideline|terms|rules|practices)|\bmoderation\b|\bE005\b/i;

/** How they write that a model of the list is unknown to them, or not for this account. */
const modelWords =
  /\bmodels?\b(?![_ ]?(?:image|photo|picture))[^.]{0,120}\b(?:not (?:found|exist|supported|available|recogni[sz]ed)|(?:does|do)(?:n't| not) (?:exist|support|have access)|unknown|unsupported|deprecated|no longer|retired|removed)|\b(?:unknown|invalid|unsupported|no such) (?:model|version|endpoint|application)\b|\bapplication\b[^.]{0,120}not found|must be verified to use the model/i;

/** How they write that the account has no money left: with any status of a refusal. */
const billingWords =
  /\binsufficient[_ ](?:\w+ )?(?:quota|balance|credits?|funds)\b|\b(?:balance|credits?|funds) (?:is |are |has |have )?(?:been )?(?:insufficient|exhausted|depleted|used up|too low|run out)|\b(?:not enough|out of|no (?:more|remaining)) (?:credits?|funds|balance)\b|\barrearage\b|\b(?:in arrears|account is overdue|overdue (?:payment|balance|invoice))\b|\bpay (?:your |the )?(?:past|overdue|open) (?:due )?invoices?\b|\b(?:monthly |account )?spending limit\b|\baccount is in good standing\b|余额不足|欠费/i;

export const isBillingRefusal = (text: string): boolean => billingWords.test(text);
export const isContentRefusal = (text: string): boolean => contentWords.test(text);
export const isModelRefusal = (text: string): boolean => modelWords.test(text);

/** Where answers have their sentence for people, the most direct one first. */
const sentenceMembers = [
  "message",
  "msg",
  "detail",
  "error",
  "errors",
  "title",
  "reason",
  "description",
  "refusal",
  "text",
  "content",
  "output",
  "result",
  "resultObject",
];
const maxDepth = 5;

/** The sentence for people in an answer; null without one. */
export function sentenceOf(value: unknown, depth = maxDepth): string | null {
  if (typeof value === "string") return isSentence(value) ? value : null;
  if (typeof value !== "object" || value === null || depth === 0) return null;
  const parts = Array.isArray(value)
    ? value.slice(0, 8)
    : sentenceMembers.map((name) => readRecord(value)[name]);
  for (const part of parts) {
    const found = sentenceOf(part, depth - 1);
    if (found !== null) return found;
  }
  return null;
}

/** More than a code, an address or the text of a picture. */
function isSentence(text: string): boolean {
  const start = text.trim().slice(0, 400);
  return (
    /\p{L}/u.test(start) && !/^(?:https?:|data:|<)/i.test(start) && (/\s/.test(start) || start.length <= 40)
  );
}

/**
 * The usual meaning of an answer that the client cannot read by the provider's own rules. A status of success then means a
 * page of a proxy. A submit that a gateway or such a page answers is `lost`: the provider behind it may have accepted.
 */
export function statusError(answer: ProviderAnswer, isSubmit: boolean): ProviderError {
  const { status, excerpt } = answer;
  const words = answer.json === undefined ? null : sentenceOf(answer.json);
  const errorClass = isOfAccount(answer, words)
    ? "credit"
    : classOfStatus(status, { isSubmit, words: words ?? "" });
  const said = errorClass === "rate" ? retryAfterInWords(`${words ?? ""}\n${excerpt}`) : null;
  const retryAfterMs = retryAfterOf(answer) ?? said;
  return new ProviderError(errorClass, `HTTP ${status}: ${excerpt}`, { retryAfterMs, words });
}

/** Whether the account has no money left; the code of an error stands beside its sentence. */
const isOfAccount = ({ status, excerpt }: ProviderAnswer, words: string | null): boolean =>
  status >= 400 && status < 500 && isBillingRefusal(`${words ?? ""}\n${excerpt}`);

const byStatus: Readonly<Record<number, ProviderErrorClass>> = {
  401: "auth",
  402: "credit",
  403: "auth",
  407: "auth",
  408: "timeout",
  423: "transient",
  425: "transient",
  429: "rate",
  451: "moderation",
};

/** A gateway had the request taken, and no answer that it can pass on; with the codes of Cloudflare and others for it. */
const ofGateway: readonly number[] = [502, 504, 520, 524, 598, 599];

/** Without its address a submit cannot be taken: the list names a model or an interface that is not there. */
const noSuchPlace: readonly number[] = [404, 405, 410];

function classOfStatus(
  status: number,
  { isSubmit, words }: { readonly isSubmit: boolean; readonly words: string },
): ProviderErrorClass {
  const known = byStatus[status];
  if (known !== undefined) return known;
  // Behind a gateway, or a page of a proxy, the provider may have accepted.
  if (ofGateway.includes(status) || status < 400) return isSubmit ? "lost" : "transient";
  if (status >= 500) return "transient";
  if (isSubmit && noSuchPlace.includes(status)) return "model";
  if (isContentRefusal(words)) return "moderation";
  return isSubmit && isModelRefusal(words) ? "model" : "input";
}

/**
 * What a run has made, read from the part of the answer with its result; `flagged` has the flags beside it. A picture that
 * is marked as refused is no result, and neither is a sentence instead of one.
 */
export function madeRun(result: unknown, flagged: unknown = result): RunState {
  const outputs = outputsOf(result);
  const flags = flagsOf(flagged, Math.max(1, outputs.length));
  const kept = outputs.filter((_, at) => !flags[at]);
  if (kept.length > 0) return { state: "succeeded", outputs: kept, costUsd: null };
  const words = sentenceOf(result);
  const isFlagged = flags.includes(true);
  if (!isFlagged && (words === null || outputs.length > 0))
    return { state: "succeeded", outputs, costUsd: null };
  const message = isFlagged ? "The picture is marked as refused by its content." : `No picture: ${words}`;
  const error = new ProviderError("moderation", message, { words, isCharged: outputs.length > 0 });
  return { state: "failed", error, costUsd: null };
}

/** A run that failed with nothing but words. */
export function failedRun(
  text: string,
  {
    otherwise = "internal",
    costUsd = null,
  }: { otherwise?: ProviderErrorClass; costUsd?: number | null } = {},
): RunState {
  const errorClass = isContentRefusal(text) ? "moderation" : otherwise;
  return { state: "failed", error: new ProviderError(errorClass, text, { words: text }), costUsd };
}
