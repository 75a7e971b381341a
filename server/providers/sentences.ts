import { readRecord } from "./read.ts";

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

const sentenceChars = 2_000;
/** So many characters of a text that was sent are known again where a sentence cuts it. */
const knownChars = 24;

/** A refusal without what it repeats of the call: those are the words of the user. */
export function withoutSent(words: string, sent: unknown): string {
  return textsIn(sent).reduce((left, text) => without(left, text), words.slice(0, sentenceChars));
}

/** A text of one word may be the provider's own word as well: it is the user's where it stands by itself. */
const before = String.raw`(?<=^\s*|["'\x60“”‘’«»„(\[{:=]\s*)`;
const behind = String.raw`(?=\s*(?:$|["'\x60“”‘’«»)\]}.,;!?]))`;

/** Takes a text out of a sentence, also where the sentence has only its beginning, or writes it otherwise. */
function without(sentence: string, text: string): string {
  if (text.length < shortText)
    return sentence.replaceAll(new RegExp(before + RegExp.escape(text) + behind, "g"), " ");
  const [said, sought] = [unitsOf(sentence), unitsOf(text.slice(0, 2 * sentenceChars))];
  const [all, whole] = [joined(said), joined(sought)];
  if (whole.length < shortText) return sentence;
  const start = whole.slice(0, knownChars);
  let [left, upTo] = ["", 0];
  for (let at = all.indexOf(start); at !== -1; at = all.indexOf(start, at)) {
    left += `${sentence.slice(upTo, said[at]?.from)} `;
    for (let same = 0; same < whole.length && all[at] === whole[same]; same += 1) at += 1;
    upTo = said[at - 1]?.to ?? upTo;
  }
  return left + sentence.slice(upTo);
}

interface Unit {
  readonly unit: string;
  readonly from: number;
  readonly to: number;
}

const joined = (units: readonly Unit[]) => units.map(({ unit }) => unit).join("");

const escaped = /\\+(?:u([\da-fA-F]{4})|x([\da-fA-F]{2})|([nrtfv])|(["'/]))|\\+|\s+|[^]/g;

/** The characters of a text in small letters, with runs of blanks and what JSON and Python escape as one character each. */
function unitsOf(text: string): Unit[] {
  const units: Unit[] = [];
  for (const { 0: part, 1: four, 2: two, 3: blank, 4: quote, index } of text.matchAll(escaped)) {
    const code = four ?? two;
    const plain =
      code === undefined ? (quote ?? part.charAt(0)) : String.fromCharCode(Number.parseInt(code, 16));
    const small = plain.toLowerCase();
    const unit = blank !== undefined || /\s/.test(plain) ? " " : small.length === 1 ? small : plain;
    const [last, to] = [units.at(-1), index + part.length];
    if (unit === " " && last?.unit === " ") units[units.length - 1] = { ...last, to };
    else units.push({ unit, from: index, to });
  }
  return units;
}

const maxTexts = 64;
const [shortText, longestText] = [8, 50_000];

/** The texts of the body of a call; pictures are longer. */
function textsIn(value: unknown, depth = 6): string[] {
  if (typeof value === "string") {
    const text = value.trim();
    return text !== "" && text.length <= longestText ? [text] : [];
  }
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value) || depth === 0) return [];
  const parts: unknown[] = value instanceof FormData ? [...value.values()] : Object.values(value);
  return parts
    .slice(0, maxTexts)
    .flatMap((part) => textsIn(part, depth - 1))
    .slice(0, maxTexts);
}
