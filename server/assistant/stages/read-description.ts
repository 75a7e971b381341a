import type { Locale } from "../../locales.ts";
import { parseForeignJson } from "../../platform/index.ts";

/** What a model wrote of a picture, as its description; or why it is none. */
export type ReadDescription = { readonly text: string } | { readonly fault: DescriptionFault };
export type DescriptionFault = "empty" | "refusal" | "endless" | "loop" | "language";

interface Written {
  /** Without the thinking before it. */
  readonly text: string;
  readonly locale: Locale;
  /** It reached a limit, so that its last sentence may be half of one. */
  readonly isCut: boolean;
}

const mostSentences = 3;
const mostCharacters = 600;

/** The first sentences of an answer, without markup and what models say around it. */
export function readDescription({ text, locale, isCut }: Written): ReadDescription {
  const said = withoutChatter(inOneLine(withoutMarkup(textIn(text))));
  const whole = wholeOf(said);
  if (whole === null) return { fault: "refusal" };
  const sentences = sentencesOf(whole).filter((sentence) => !chatter.test(sentence));
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

/** Some models answer with an object although none was asked for. */
function textIn(answer: string): string {
  const fenced = /^\s*```\w*\s*\n([^]*?)\n?\s*```\s*$/.exec(answer)?.[1] ?? answer;
  if (!fenced.trimStart().startsWith("{")) return fenced;
  const value = parseForeignJson(fenced);
  const texts = Object.values(Object(value)).filter((one) => typeof one === "string");
  return texts.toSorted((a, b) => b.length - a.length)[0] ?? fenced;
}

/** Marks of models (`<|im_end|>`, `[INST]`), HTML and Markdown. */
function withoutMarkup(text: string): string {
  return text
    .replaceAll(/<\|[^|<>]{1,40}\|>|<\/?s>|\[\/?INST\]|<(?:image|img|unk|pad|eos|bos)>/gi, " ")
    .replaceAll(/<\/?[a-z][^<>]{0,200}>/gi, " ")
    .replaceAll(/!\[[^\]]*\]\([^)]*\)/g, " ")
    .replaceAll(/\[([^\]]+)\]\([^)]*\)/g, "$1")
    .replaceAll(/^[ \t]*(?:#{1,6}|>|[-*•+]|\d{1,2}[.)])[ \t]+/gm, "")
    .replaceAll(/^[ \t]*(?:```\w*|-{3,}|\*{3,})[ \t]*$/gm, "")
    .replaceAll(/(\*{1,3}|_{1,3}|`{1,3})(\S(?:[^\n]*?\S)?)\1/g, "$2")
    .replaceAll(/https?:\/\/\S+/gi, " ");
}

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
  /\b(?:let me know|would you like|do you want me|feel free|i hope (?:this|that)|if you (?:need|have|want|would|'d)|happy to help|any other (?:questions|details))\b|^(?:lass mich wissen|möchtest du|möchten sie|¿(?:quieres|te gustaría)|дайте знать|хотите|искате ли|кажете ми|如果(?:您|你)|需要我)/iu;

function withoutChatter(text: string): string {
  const bare = text.replace(greeting, "").replace(announcement, "").replace(greeting, "");
  const quoted = /^["“„«'](.*)["”“»']$/su.exec(bare.trim())?.[1];
  return (quoted !== undefined && !/["“”„«»]/u.test(quoted) ? quoted : bare).trim();
}

/** How models say that they see nothing or say nothing, at the beginning of a sentence. */
const refusals: readonly RegExp[] = [
  /^(?:(?:unfortunately|however|sorry|i apologi[sz]e|apologies)\b[,.!:;]?\s*)*(?:but\s+)?(?:i|we)(?:'|’)?(?:\s?a?m)?\s+(?:sorry|afraid|unable|not able|can(?:'|’)?t|cannot|can not|could(?:n(?:'|’)t| not)|won(?:'|’)t|do(?:n(?:'|’)t| not) (?:see|have|feel)|am not able|must decline|need (?:the|an|to see))/i,
  /^(?:sorry|i(?:'|’)?m sorry|i apologi[sz]e|my apologies)\b/i,
  /\bas an? (?:ai|artificial|(?:large )?language model|text[- ](?:based|only))/i,
  /\b(?:no|not? any|without an?) (?:image|picture|photo)s?\b.{0,20}\b(?:was|is|were|has been|provided|attached|uploaded|shared|included)\b/i,
  /\b(?:please|could you|can you) (?:provide|upload|share|attach|send|describe)\b.{0,30}\b(?:image|picture|photo|it)\b/i,
  /\byou (?:have not|haven(?:'|’)t|did not|didn(?:'|’)t) (?:provided?|attach(?:ed)?|upload(?:ed)?|shared?)\b/i,
  /\b(?:this|the) (?:model|assistant|system)\b.{0,20}\b(?:unable|not able|cannot|can(?:'|’)?t|does(?:n(?:'|’)t| not))\b/i,
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
