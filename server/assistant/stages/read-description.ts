import type { Locale } from "../../locales.ts";
import { parseForeignJson } from "../../platform/index.ts";
import { wordsOfJson } from "./loose-json.ts";

/** What a model wrote of a picture, as its description; or why it is none. */
export type ReadDescription = { readonly text: string } | { readonly fault: DescriptionFault };
export type DescriptionFault = "empty" | "refusal" | "endless" | "loop" | "language";

interface Written {
  /** Without the thinking before it. */
  readonly text: string;
  readonly locale: Locale;
  /** It reached a limit, so that its last sentence may be half of one. */
  readonly isCut: boolean;
  /** What the model was asked, which some repeat. */
  readonly asked?: string;
}

const mostSentences = 3;
const mostCharacters = 600;

/** The first sentences of an answer, without markup and what models say around it. */
export function readDescription({ text, locale, isCut, asked = "" }: Written): ReadDescription {
  const said = withoutChatter(withoutEcho(inOneLine(withoutMarkup(textIn(firstTurn(text)))), asked));
  const whole = wholeOf(said);
  if (whole === null) return { fault: "refusal" };
  const sentences = sentencesOf(whole).filter(
    (sentence) => !chatter.test(sentence) && !musing.test(sentence),
  );
  if (sentences.some((sentence, at) => at < mostSentences && isRefusal(sentence)))
    return { fault: "refusal" };
  if (isCut && isEndless(sentences)) return { fault: "endless" };
  const isHalf =
    isCut && sentences.length > 1 && sentences.length <= mostSentences && !endsWhole(sentences.at(-1));
  const kept = cutAtWord(
    sentences
      .slice(0, isHalf ? -1 : mostSentences)
      .join(" ")
      .trim(),
  );
  const fault = faultOf(kept, locale);
  if (fault !== null) return { fault };
  return { text: kept.replace(/^\p{Ll}/u, (letter) => letter.toUpperCase()) };
}

/** An answer that goes on after three sentences up to its limit is thinking aloud, unless the rest repeats itself. */
const isEndless = (sentences: readonly string[]) =>
  sentences.length > mostSentences && !isLoop(sentences.slice(mostSentences).join(" "));

function faultOf(kept: string, locale: Locale): DescriptionFault | null {
  if (isLoop(kept)) return "loop";
  if (isNothing(kept)) return "empty";
  return isForeign(kept, locale) ? "language" : null;
}

/** Marks in the formats of chats: a turn ends, or a person's begins. */
const turnEnd =
  /<\|(?:im_start|im_end|eot_id|eom_id|end|endoftext|end_of_text|start_header_id|assistant|system)\|>|<(?:start|end)_of_turn>|<\|?turn\|?>|<\/s>|\[\/INST\]|<\uFF5C(?:Assistant|end\u2581of\u2581sentence)\uFF5C>/giu;
const personBegins = /\[INST\]|<\|user\|>|<\uFF5CUser\uFF5C>/giu;
const speaker =
  /^\s*(?:#{1,6}\s*)?[*_]{0,3}(?:(assistant|ai|(?:final )?answer|response|output|(?:option|caption|description) \d)|(user|human|system|instructions?|input|question))[*_]{0,3}\s*(?:[:：][*_]{0,3}\s*|$)/i;

/** Of a talk that a model goes on with by itself, or repeats from its beginning, what it says first. */
function firstTurn(text: string): string {
  const marked = text
    .replaceAll(personBegins, "\n\0\nuser\n")
    .replaceAll(turnEnd, "\n\0\n")
    .replaceAll(/<\|end_header_id\|>|<0x0A>/gi, "\n");
  const said: string[] = [];
  let speaks = true;
  for (const line of marked.split(/\r?\n/)) {
    const [label = "", own, persons] = speaker.exec(line) ?? [];
    const isTurn = line === "\0" || own !== undefined || persons !== undefined;
    if (isTurn && said.some((one) => /\p{L}/u.test(one))) break;
    if (isTurn) speaks = persons === undefined;
    const rest = line.slice(label.length).replace("\0", "");
    if (speaks && rest.trim() !== "model") said.push(rest);
  }
  const turn = said.join("\n");
  return /\p{L}/u.test(turn) ? turn : text;
}

const jsonStart = /^(?:[^{[]{0,200}[:\n]\s*)?(?:```\w*\s*)?(\{\s*["'\w]|\[\s*["'{])/;
/** Some models answer with JSON although none was asked for. */
function textIn(answer: string): string {
  const value = parseForeignJson(answer);
  const text = typeof value === "string" ? value : answer;
  const found = jsonStart.exec(text);
  if (!found) return /^\s*```\w*\s*\n([^]*?)\n?\s*```\s*$/.exec(text)?.[1] ?? text;
  const json = text.slice(found[0].length - (found[1] ?? "").length);
  return wordsOfJson(json) ?? text;
}

/** Marks of models (`<|box_start|>`, `[IMG]`, places in the picture), HTML and Markdown. */
function withoutMarkup(text: string): string {
  return text
    .replaceAll(
      /<[|\uFF5C][^|\uFF5C<>]{1,40}[|\uFF5C]>|<\/?s>|\[\/?(?:INST|IMG\w*|img-\d+)\]|<(?:image|img|unk|pad|eos|bos)>|\uFFFD/gi,
      " ",
    )
    .replaceAll(/<\/?[a-z][^<>]{0,200}>/gi, " ")
    .replaceAll(
      /\s?\(\d{1,4}, ?\d{1,4}\)(?:, ?\(\d{1,4}, ?\d{1,4}\))+|\s?\[{1,2}\d{1,4}(?:, ?\d{1,4}){3}\]{1,2}/g,
      "",
    )
    .replaceAll(/\\(?:boxed|text)\{([^{}]*)\}/g, "$1")
    .replaceAll(/!\[([^\]]*)\]\([^)]*\)/g, (_all, alt: string) => (/\s\S+\s/.test(alt) ? alt : " "))
    .replaceAll(/\[([^\]]+)\]\([^)]*\)/g, "$1")
    .replaceAll(/^[ \t]*\|.*\|[ \t]*\n[ \t]*\|(?:[ \t]*:?-+:?[ \t]*\|)+[ \t]*$/gm, "")
    .replaceAll(/^[ \t]*\|(.*)\|[ \t]*$/gm, (_all, cells: string) => cells.replaceAll("|", ":"))
    .replaceAll(/^[ \t]*(?:#{1,6}|>|[-*•+]|\d{1,2}[.)])[ \t]+/gm, "")
    .replaceAll(/^[ \t]*(?:```\w*|-{3,}|\*{3,})[ \t]*$/gm, "")
    .replaceAll(/(\*{1,3}|_{1,3}|`{1,3}|\$)(\S(?:[^\n]*?\S)?)\1/g, "$2")
    .replaceAll(/https?:\/\/\S+|\(\d+ (?:words|characters|tokens)\)/gi, " ")
    .replaceAll(/&(amp|quot|#0?39|apos|nbsp);/g, (_all, name: string) => entities[name] ?? "'");
}

const entities: Readonly<Record<string, string>> = { amp: "&", quot: '"', nbsp: " " };

/** Lines of a list become sentences. */
function inOneLine(text: string): string {
  const lines = text.split(/[\r\n\u2028\u2029]+/).map((line) => line.replaceAll(/\s+/g, " ").trim());
  const full = lines.filter((line) => line !== "");
  return full
    .map((line, at) => (at === full.length - 1 || /[\p{P}]$/u.test(line) ? line : `${line}.`))
    .join(" ");
}

const greeting =
  /^(?:sure(?: thing)?|certainly|of course|absolutely|okay|ok|alright|gerne|natürlich|klar|claro(?: que sí)?|por supuesto|конечно|хорошо|разбира се|добре|好的|当然(?:可以)?)\s*[,!.:，！。：]+\s*/iu;
/** "Here is a description of the picture:", "Caption:". */
const announcement =
  /^[^.!?。！？:：]{0,90}(?:descri(?:p|b|ç)|caption|alt text|beschreibung|bildunterschrift|описани|подпис|描述|说明|here(?:'|’)?s|here is|here are|aquí (?:tienes|está)|hier ist)[^.!?。！？:：]{0,60}[:：]\s*/iu;
/** What is said to the person who asks, at the end. */
const chatter =
  /\b(?:let me know|would you like|do you want me|feel free|i hope (?:this|that)|if you (?:need|have|want|would|'d)|happy to help|any other (?:questions|details))\b|^\(?note: (?:i|this)\b|^(?:lass mich wissen|möchtest du|möchten sie|¿(?:quieres|te gustaría)|дайте знать|хотите|искате ли|кажете ми|如果(?:您|你)|需要我)/iu;

/** A model that thinks aloud before it says what it sees. */
const musing =
  /^(?:(?:okay|ok|so|alright|all right|hmm+|well|now|first|got it|right)[,.!]?\s+)*(?:let(?:'|’)s (?:see|look|take|think|describe|start|break|analy[sz]e)|let me (?:see|look|take|think|describe|start|analy[sz]e)|the user (?:wants|asks|asked|is asking|provided)|(?:i|we) (?:need|have|should|want) to)\b/i;

/** Without the sentences of the request. */
function withoutEcho(text: string, asked: string): string {
  const request = spell(asked);
  const isEcho = (sentence: string) => sentence.length > 20 && request.includes(spell(sentence));
  return sentencesOf(text)
    .filter((sentence) => !isEcho(sentence))
    .join(" ");
}

const spell = (text: string) =>
  text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, " ")
    .trim();

function withoutChatter(text: string): string {
  const bare = text.replace(greeting, "").replace(announcement, "").replace(greeting, "");
  const quoted = /^["“„«'](.*)["”“»']$/su.exec(bare.trim())?.[1];
  return (quoted !== undefined && !/["“”„«»]/u.test(quoted) ? quoted : bare).trim();
}

/** How models say that they see nothing or say nothing, at the beginning of a sentence. */
const refusals: readonly RegExp[] = [
  /^(?:(?:unfortunately|however|sorry|i apologi[sz]e|apologies)\b[,.!:;]?\s*)*(?:but\s+)?(?:i|we)(?:'|’)?(?:\s?a?m)?\s+(?:sorry|afraid|unable|not able|can(?:'|’)?t|cannot|can not|could(?:n(?:'|’)t| not)|won(?:'|’)t|do(?:n(?:'|’)t| not) (?:see|have|feel)|am not able|must decline|need (?:the|an|to see))/i,
  /^(?:sorry|i(?:'|’)?m sorry|i apologi[sz]e|my apologies)\b/i,
  /^(?:unable|not able|failed) to (?:view|see|access|open|load|process|describe|analy[sz]e)\b/i,
  /^\W?(?:the )?(?:image|picture|photo)s? (?:(?:is|was) )?(?:not|can(?:not| not|'t) be|could not be) (?:available|found|visible|provided|loaded|displayed|processed)\b/i,
  /^\W?no (?:image|picture|photo)s? (?:detected|found|available|visible|received|to describe)\b/i,
  /^(?:un)?safe(?:[.\s]+S\d{1,2})*\W*$/i,
  /^\W?(?:error|generation failed)\b.{0,40}(?:image|picture|photo|failed|\(\))/i,
  /\b(?:text[- ](?:only|based) (?:model|ai|assistant)|not visible to me|how (?:can|may) i (?:help|assist)|base64)\b/i,
  /^i(?:'|’)?(?:m| am) (?:just |only )?an? (?:ai|(?:large )?language model|assistant|chatbot)\b/i,
  /\bas an? (?:ai|artificial|(?:large )?language model|text[- ](?:based|only))/i,
  /\b(?:no|not? any|without an?) (?:image|picture|photo)s?\b.{0,20}\b(?:was|is|were|has been|provided|attached|uploaded|shared|included)\b/i,
  /\b(?:please|could you|can you) (?:provide|upload|share|attach|send|describe)\b.{0,30}\b(?:image|picture|photo|it)\b/i,
  /\byou (?:have not|haven(?:'|’)t|did not|didn(?:'|’)t) (?:provided?|attach(?:ed)?|upload(?:ed)?|shared?)\b/i,
  /\b(?:this|the) (?:model|assistant|system)\b.{0,20}\b(?:unable|not able|cannot|can(?:'|’)?t|does(?:n(?:'|’)t| not))\b/i,
  /^(?:ich (?:sehe|habe|erhalte) kein(?:e|en)? (?:bild|foto)|bitte (?:lade|sende|füge|stelle)n?\b.{0,30}\b(?:bild|foto)|es wurde kein (?:bild|foto))/i,
  /^(?:no (?:veo|hay|recibo|se ha proporcionado) ningun[ao]? (?:imagen|foto)|por favor,? (?:proporcion|adjunt|compart|sub[ae]|suba|envíe?)\S*.{0,20}(?:imagen|foto))/i,
  /^(?:я не вижу|не вижу (?:изображени|картин|фото)|пожалуйста,? (?:загрузите|предоставьте|пришлите|прикрепите)|изображение не (?:загружено|предоставлено|прикреплено))/iu,
  /^(?:не виждам (?:изображени|снимк|картин)|моля,? (?:качете|изпратете|прикачете|предоставете))/iu,
  /^(?:请(?:您)?(?:提供|上传|发送)|(?:您|你)(?:没有|尚未|还没有)(?:上传|提供|发送)|没有(?:看到|收到).{0,6}(?:图|照片))/iu,
  /^(?:es tut mir leid|tut mir leid|leider kann ich|ich kann (?:das|dieses|die|kein|keine|ihnen|dir|bei)\b.{0,60}\bnicht|als (?:ki|sprachmodell))/i,
  /^(?:lo siento|lamento|no puedo (?:ver|describir|ayudar|procesar|identificar)|como (?:modelo|ia)\b)/i,
  /^(?:извините|простите|к сожалению, я|я не могу|не могу (?:увидеть|видеть|описать|помочь|просмотреть|распознать)|как (?:ии|языковая модель))/iu,
  /^(?:съжалявам|извинявай(?:те)?|за съжаление(?:,)? (?:аз )?не мога|не мога да (?:видя|опиша|помогна|разпозная)|като (?:изкуствен|езиков))/iu,
  /^(?:很?抱歉|对不起|不好意思|我(?:无法|不能|看不到)|无法(?:查看|看到|描述|识别)|作为(?:一个)?(?:ai|人工智能|语言模型))/iu,
];

const isRefusal = (text: string) => refusals.some((form) => form.test(sentencesOf(text)[0] ?? ""));

/** Without refusals that leave something about the picture; null when nothing is left. */
const wholeOf = (said: string) => (isRefusal(said) ? afterBut(said) : null) ?? withoutUnknown(said);

/** The end of "I can't identify who they are", in the languages of the studio. */
const ofPersons =
  /\b(?:identif\w+|recogni[sz]\w+|name|tell|say|know|determine)\b.*\b(?:who|persons?|people|individuals?|identit\w+|faces?|m[ae]n|wom[ae]n|they|them|him|her|child(?:ren)?)\b|\b(?:identifizieren|erkennen|sagen)\b.*|(?:identificar|reconocer|decir).*(?:persona|quién|identidad|rostro)|(?:распознать|опознать|сказать).*(?:люд|человек|лиц|кто|личност)|(?:разпозная|кажа).*(?:хора|човек|лиц|кой|коя|личност)|(?:识别|辨认|确定|认出).*(?:人|身份|谁)/iu;

/** Without the sentences that refuse to say who somebody is; null when nothing about the picture is left. */
function withoutUnknown(text: string): string | null {
  const isUnknown = (sentence: string) => isRefusal(sentence) && ofPersons.test(sentence);
  const all = sentencesOf(text);
  const left = all.filter((sentence) => !isUnknown(sentence));
  if (left.length === all.length) return isRefusal(text) ? null : text;
  if (left.length === 0 || /^(?:i|if|you|please)\b/i.test(left[0] ?? "")) return null;
  return left.join(" ");
}

/** "I cannot say who that is, but the picture shows ..." says something. */
function afterBut(text: string): string | null {
  const rest =
    /^[^.!?]{0,160}?\bbut\b,?\s+(?:i can (?:see|tell|say|describe|provide)[^.!?:,]{0,40}[:,]?\s*)?(.{20,})$/is.exec(
      text,
    )?.[1];
  if (rest === undefined || isRefusal(rest) || /^(?:i|if|you|please)\b/i.test(rest)) return null;
  return rest;
}

const sentenceSegmenter = new Intl.Segmenter("en", { granularity: "sentence" });
const wordSegmenter = new Intl.Segmenter("en", { granularity: "word" });

const sentencesOf = (text: string) =>
  [...sentenceSegmenter.segment(text)].map(({ segment }) => segment.trim()).filter((one) => one !== "");

const endsWhole = (sentence = "") => /[.!?…。！？]["”’»)]*$/u.test(sentence);

function cutAtWord(text: string): string {
  if (text.length <= mostCharacters) return text;
  const cut = text
    .slice(0, mostCharacters)
    .toWellFormed()
    .replace(/\uFFFD$/u, "");
  const end = cut.lastIndexOf(" ");
  return `${(end > mostCharacters / 2 ? cut.slice(0, end) : cut).replace(/[\s,;:]+$/u, "")} …`;
}

const emptyWords =
  /^(?:(?:the|an?|this|of)\b\s*|(?:n\/?a|none|null|undefined|nothing|unknown|image|picture|photo|description|caption|untitled|error|ok(?:ay)?|yes|no)\b[\s.,]*)*$/i;

const isNothing = (text: string) =>
  (text.match(/\p{L}/gu) ?? []).length < (/\p{Script=Han}/u.test(text) ? 2 : 3) || emptyWords.test(text);

const leastWords = 8;
const leastOwn = 0.6;
const mostInRow = 4;

/** The same words again and again; scripts without blanks have words, too. */
function isLoop(text: string): boolean {
  const words = [...wordSegmenter.segment(text.toLowerCase())].flatMap((part) =>
    part.isWordLike ? [part.segment] : [],
  );
  let inRow = 1;
  for (const [at, word] of words.entries()) {
    inRow = word === words[at - 1] ? inRow + 1 : 1;
    if (inRow >= mostInRow) return true;
  }
  const triples = words.slice(2).map((word, at) => `${words[at]} ${words[at + 1]} ${word}`);
  // A word of a thousand letters, such as "aaaa".
  if (words.some((word) => /(.{1,4})\1{7}/su.test(word))) return true;
  return triples.length >= leastWords && new Set(triples).size < triples.length * leastOwn;
}

const scripts: Readonly<Record<Locale, RegExp>> = {
  en: /\p{Script=Latin}/u,
  de: /\p{Script=Latin}/u,
  es: /\p{Script=Latin}/u,
  bg: /[\p{Script=Latin}\p{Script=Cyrillic}]/u,
  ru: /[\p{Script=Latin}\p{Script=Cyrillic}]/u,
  "zh-CN": /[\p{Script=Latin}\p{Script=Han}]/u,
};
const mostForeign = 0.25;

/** In a script that the owner does not read, as small models fall into; names and signs may be in any. English is taken from all. */
function isForeign(text: string, locale: Locale): boolean {
  const letters = text.match(/\p{L}/gu) ?? [];
  return letters.filter((letter) => !scripts[locale].test(letter)).length > letters.length * mostForeign;
}
