import { withoutQuoted } from "../platform/index.ts";
import { type ProviderAnswer, retryAfterInWords, retryAfterOf } from "./http.ts";
import { flagsOf, outputsOf } from "./outputs.ts";
import { ProviderError, type ProviderErrorClass, type RunState } from "./port.ts";
import { readRecord, readText } from "./read.ts";
import { sentenceOf, withoutSent } from "./sentences.ts";

/** How providers without codes for it write that a content was refused. */
const contentWords: readonly RegExp[] = [
  /nsfw/i,
  /content[ _-]?(?:polic|filter|moderation|safety)/i,
  /\bsafety\b/i,
  /responsible ai/i,
  /(?<!case[- ])\bsensitive\b/i,
  /\bflagged\b/i,
  /\bprohibited\b/i,
  /\binappropriate\b/i,
  /\bexplicit (?:content|material)/i,
  /\bviolat\w+[^.]{0,80}(?:polic|guideline|terms|rules|practices)/i,
  /\bmoderation\b/i,
  /\b(?:request|content|prompt|input|output|image)s? (?:was |were )?moderated\b/i,
  /\bE005\b/i,
];

/** How they write that a model of the list is unknown to them, or not for this account. */
const modelWords: readonly RegExp[] = [
  /\bmodels?\b(?![_ ]?(?:image|photo|picture))[^.]{0,120}\bnot (?:found|exist|supported|available|recogni[sz]ed)/i,
  /\bmodels?\b(?![_ ]?(?:image|photo|picture))[^.]{0,120}\b(?:does|do)(?:n't| not) (?:exist|support|have access)/i,
  /\bmodels?\b(?![_ ]?(?:image|photo|picture))[^.]{0,120}\b(?:unknown|unsupported|deprecated|no longer|retired|removed)/i,
  /\b(?:unknown|invalid|unsupported|no such) (?:model|version|endpoint|application)\b/i,
  /\bapplication\b[^.]{0,120}not found/i,
  /must be verified to use the model/i,
];

/** How they write that the account has no money left. A balance may also be one of colours. */
const billingWords: readonly RegExp[] = [
  /\binsufficient[_ ](?!(?:white|colou?r|tonal|contrast|light|visual)[_ ])(?:\w+[_ ])?balance\b/i,
  /\binsufficient[_ ](?:\w+ )?(?:quota|credits?|funds)\b/i,
  /(?<!\b(?:white|colou?r|tonal|contrast|light|visual)[ _])\bbalance (?:is |has |has been )?(?:insufficient|exhausted|depleted|used up|too low|run out|not enough)/i,
  /\bnot enough (?:account |credit )?balance\b(?! (?:between|of|in the)\b)/i,
  /\b(?:credits?|funds) (?:is |are |has |have )?(?:been )?(?:insufficient|exhausted|depleted|used up|too low|run out)/i,
  /\b(?:not enough|out of|no (?:more|remaining)) (?:credits?|funds)\b/i,
  /\barrearage\b/i,
  /\b(?:in arrears|account is overdue|overdue (?:payment|balance|invoice))\b/i,
  /\bpay (?:your |the )?(?:past|overdue|open) (?:due )?invoices?\b/i,
  /\b(?:monthly |account )?spending limit\b/i,
  /(?<!\b(?:token|thinking|reasoning|step)s? )\bbudget (?:is |was |has been )?exceeded\b|\bexceeded ?budget\b/i,
  /\baccount is in good standing\b/i,
  /余额不足/i,
  /欠费/i,
];

/** The codes for it. */
const billingCode =
  /insufficient[_-]?(?:[a-z]+[_-]?)?(?:quota|balance|credits?|funds)|not[_-]?enough[_-]?balance|(?:not[_-]?enough|out[_-]?of|(?:^|[_-])no)[_-]?(?:credits?|funds)|(?:balance|credits?|funds)[_-]?(?:insufficient|exhausted|depleted|not[_-]?enough)|arrearage|overdue|billing|payment[_-]?required|spending[_-]?limit|budget[_-]?exceeded/i;

/**
 * How they write that the account itself is shut, mostly with a word of its content: no other content would be taken either. What
 * a user has sent is not the user: "The user prompt was blocked."
 */
const accountWords: readonly RegExp[] = [
  /\b(?:account|organi[sz]ation)(?: ["'\w.@-]+)? (?:is|was|has been|have been)(?: (?:now|currently|temporarily|permanently|already))? (?:blocked|locked|suspended|terminated|deactivated|disabled|revoked|banned|restricted|flagged)\b/i,
  /\b(?:resource|access|subscription|project|api key|user)(?: (?!(?:prompt|content|input|message|image|photo|picture|request|text|upload|file|media|generation|output|query|queries)s?\b)["'\w.@-]+)? (?:is|was|has been|have been)(?: (?:now|currently|temporarily|permanently|already))? (?:blocked|locked|suspended|terminated|deactivated|disabled|revoked|banned|restricted)\b/i,
  /\baccess[_ ]terminated\b/i,
];

/**
 * How they write, also with 400 or 403, that they do not take the key, or nothing from its account: whoever sends what with it gets the
 * same answer. A name of a code may stand in a sentence.
 */
const keyWords: readonly RegExp[] = [
  /\bapi[ _-]?keys?\b(?! of\b)[^.]{0,60}?\b(?:not (?:valid|found|supported|authori[sz]ed)|invalid|incorrect|expired|leaked|revoked|disabled|missing|restrict(?:ed|ion)|does(?:n't| not) have (?:access|permission))/i,
  /\b(?:invalid|incorrect|wrong|missing|expired|revoked|unknown|no|without) (?:\w+ )?api[ _-]?key\b/i,
  /\b(?:api_key_\w+|invalid_api_key|service_disabled|consumer_\w+|permission_denied|unauthenticated|unsupported_country\w*|access_token_\w+)\b/i,
  /\bapi\b[^.]{0,40} has not been used in project\b/i,
  /\brequests? (?:to this api|from (?:this |the )?(?:referr?er|ip address|(?:android|ios) client))\b.{0,200}\b(?:is|are) blocked\b/i,
  /\bunregistered callers\b/i,
  /\bproject has been denied access\b/i,
  /\b(?:insufficient permissions|missing scopes)\b/i,
  /\buser location is not supported\b|\bcountry, region,? or territory not supported\b/i,
];

/** How they begin to tell of an address of the user's that they cannot reach: a key is then that of its server. */
const fetchWords =
  /\b(?:download|fetch|load|read|retriev)\w*\b[^.]{0,40}?\b(?:image|picture|photo|media|file|url)s?(?:_\w+)?\b(?! (?:model|generat))/i;

/**
 * What the words of a refusal are about: the account's money (`credit`) or the account (`auth`), the content or the model; null
 * for anything else. What they quote, and what they repeat of the call, are the user's words. Of money, the key and content the first
 * one decides: "Insufficient funds. Violates our terms." is about money.
 */
export function kindOfRefusal(
  words: string,
  sent: unknown,
): "credit" | "auth" | "moderation" | "model" | null {
  const told = withoutSent(words, sent);
  const own = withoutQuoted(told);
  const [money, content] = [firstOf(billingWords, own), firstOf(contentWords, own)];
  if (money < content) return "credit";
  const isOfKey = firstOf(keyWords, own) < Math.min(content, firstOf([fetchWords], own));
  if (isOfKey || accountWords.some((form) => form.test(own))) return "auth";
  // A server may quote the whole refusal of another one.
  if (content < Infinity || isContentRefusal(told)) return "moderation";
  return modelWords.some((form) => form.test(told)) ? "model" : null;
}

/** Where the first of these forms stands in a text; Infinity without one. */
const firstOf = (forms: readonly RegExp[], text: string) =>
  Math.min(...forms.map((form) => form.exec(text)?.index ?? Infinity));

/** Whether a text speaks of refused content at all. */
export const isContentRefusal = (text: string): boolean => contentWords.some((form) => form.test(text));

/**
 * The usual meaning of an answer that the client cannot read by the provider's own rules. A status of success then means a
 * page of a proxy. A submit that a gateway or such a page answers is `lost`: the provider behind it may have accepted.
 */
export function statusError(answer: ProviderAnswer, isSubmit: boolean): ProviderError {
  const { status, excerpt } = answer;
  const words = answer.json === undefined ? null : sentenceOf(answer.json);
  const kind = kindOfRefusal(words ?? "", answer.sent);
  const isShut = kind === "auth" && saysWhy(status);
  const ofStatus = isShut ? "auth" : classOfStatus(status, { isSubmit, kind });
  const errorClass = isOfAccount(answer, words) ? "credit" : ofStatus;
  const said = errorClass === "rate" ? retryAfterInWords(`${words ?? ""}\n${excerpt}`) : null;
  const retryAfterMs = retryAfterOf(answer) ?? said;
  return new ProviderError(errorClass, `HTTP ${status}: ${excerpt}`, { retryAfterMs, words });
}

/** Whether the provider refuses for want of money, by its sentence or its code. A gateway that gave up says nothing of it. */
function isOfAccount({ status, json, excerpt, sent }: ProviderAnswer, words: string | null): boolean {
  if (status < 400 || status >= 500 || status === 408) return false;
  const sentence = json === undefined && !/^\s*</.test(excerpt) ? excerpt : (words ?? "");
  return codesOf(json).some((code) => billingCode.test(code)) || kindOfRefusal(sentence, sent) === "credit";
}

const codeMembers = ["code", "type", "error", "status", "reason", "error_code", "errorCode", "error_type"];

/** The codes of an error: short texts without blanks. */
function codesOf(value: unknown, depth = 4): string[] {
  if (depth === 0) return [];
  if (Array.isArray(value)) return value.slice(0, 8).flatMap((item) => codesOf(item, depth - 1));
  const record = readRecord(value);
  const own = codeMembers.flatMap((name) => readText(record[name]) ?? []);
  const inner = ["error", "errors", "detail"].flatMap((name) => codesOf(record[name], depth - 1));
  return [...own.filter((code) => /^\S{1,80}$/.test(code)), ...inner];
}

const byStatus: Readonly<Record<number, ProviderErrorClass>> = {
  401: "auth",
  402: "credit",
  403: "auth",
  407: "auth",
  408: "timeout",
  // What came at the same time as another call.
  409: "transient",
  423: "transient",
  425: "transient",
  429: "rate",
  451: "moderation",
};

/** A gateway had the request taken, and no answer that it can pass on; with the codes of Cloudflare and others for it. */
const ofGateway: readonly number[] = [499, 502, 504, 520, 524, 598, 599];

/** Whether the words beside a status are the provider's own, and not those of a gateway that gave up. */
const saysWhy = (status: number) => status >= 400 && status < 499 && status !== 402 && status !== 408;

/** Without its address a submit cannot be taken: the list names a model or an interface that is not there. */
const noSuchPlace: readonly number[] = [404, 405, 410];

function classOfStatus(
  status: number,
  { isSubmit, kind }: { readonly isSubmit: boolean; readonly kind: ReturnType<typeof kindOfRefusal> },
): ProviderErrorClass {
  const known = byStatus[status];
  if (known !== undefined) return known;
  // Behind a gateway, or a page of a proxy, the provider may have accepted.
  if (ofGateway.includes(status) || status < 400) return isSubmit ? "lost" : "transient";
  if (status >= 500) return "transient";
  if (isSubmit && noSuchPlace.includes(status)) return "model";
  if (kind === "moderation") return "moderation";
  return isSubmit && kind === "model" ? "model" : "input";
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
  const errorClass = kindOfRefusal(text, null) === "moderation" ? "moderation" : otherwise;
  return { state: "failed", error: new ProviderError(errorClass, text, { words: text }), costUsd };
}

const openStates =
  /^(?:queued|queue?ing|pending|waiting|submitted|accepted|created|starting|processing|running|generating|in[ _-]?(?:progress|queue))$/i;
const failedStates = /fail|error|cancel|reject|refus|denied|abort|expired/i;
const ownTaskIds = ["task_id", "taskId", "job_id", "jobId"];
const taskIds = [...ownTaskIds, "id", "request_id", "requestId", "polling_url"];

type Task = "begun" | "ended";

/** What an object says of the task that it names; null where it names none, or one that has failed. */
function taskOf(one: Readonly<Record<string, unknown>>): Task | null {
  const named = [one["status"], one["task_status"], one["state"]].map(readText);
  const states = named.filter((state) => state !== null);
  const isNamed = (name: string) => readText(one[name]) !== null || typeof one[name] === "number";
  const isOpen = states.some((state) => openStates.test(state)) || readText(one["polling_url"]) !== null;
  if (isOpen && taskIds.some(isNamed)) return "begun";
  const hasFailed = states.some((state) => failedStates.test(state) || isContentRefusal(state));
  if (hasFailed || !ownTaskIds.some(isNamed)) return null;
  return states.length === 0 ? "begun" : "ended";
}

/**
 * The tasks that an answer names: the server has begun to make a picture, for which it mostly wants to be asked again at an
 * address of its own. They may stand where the pictures would.
 */
function tasksOf(json: unknown): readonly Task[] {
  const { data, output, task, result } = readRecord(json);
  return [json, data, output, task, result].flat().flatMap((place) => taskOf(readRecord(place)) ?? []);
}

/** The members of a task whose address is a picture and no place to ask again. */
const pictureNames =
  /^(?:ur[il]|data|result|output|sample)$|image|img|picture|photo|output_?ur|download|^file/i;

function isQuestion([name, member]: readonly [string, unknown]): boolean {
  if (taskIds.includes(name) || /links?$/i.test(name)) return true;
  if (name === "urls") return !Array.isArray(member);
  return typeof member === "string" && /^\s*https?:/i.test(member) && !pictureNames.test(name);
}

/** An answer without what is there to ask again for its task. */
function withoutQuestions(value: unknown, depth = 6): unknown {
  if (typeof value !== "object" || value === null || depth === 0) return value;
  if (Array.isArray(value)) return value.map((item: unknown) => withoutQuestions(item, depth - 1));
  const members = Object.entries(value).filter((member) => !isQuestion(member));
  return Object.fromEntries(members.map(([name, member]) => [name, withoutQuestions(member, depth - 1)]));
}

/**
 * An answer as that of a server which makes its pictures at once, without the addresses of a task that it has begun; throws
 * class `lost` where it names a task in place of a picture.
 */
export function withoutTask(json: unknown): unknown {
  const tasks = tasksOf(json);
  const rest = tasks.includes("begun") ? withoutQuestions(json) : json;
  // It was taken, and may be paid: nobody else may be asked for the same.
  if (tasks.length > 0 && outputsOf(rest).length === 0)
    throw new ProviderError("lost", "The answer names a task in place of a picture.");
  return rest;
}
