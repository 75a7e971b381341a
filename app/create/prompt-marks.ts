/** What a part of a prompt is to the studio: choices and lists are drawn, weights are read by the engine, faults are refused. */
type MarkKind = "choice" | "list" | "weight" | "fault";

interface Mark {
  readonly from: number;
  readonly to: number;
  readonly kind: MarkKind;
}

/** A piece of a prompt; without a kind it is plain. */
export interface Piece {
  readonly text: string;
  readonly kind: MarkKind | null;
}

/** Longer texts, which only a list of prompts has, are shown plain. */
const maxCharacters = 20_000;

/**
 * What stands out in a prompt: an escaped sign (which is none), `__list__`, the signs of choices with the weight of one, the
 * beginning and the end of `(words:1.2)`, and what programs write for a LoRA, which is chosen beside the prompt here.
 */
const signs =
  /(?<escape>\\[{}|_])|__(?<list>[\p{L}\p{N}]+(?:[-/_. ][\p{L}\p{N}]+)*)__|(?<sign>[{}|])|(?<=[{|])(?<often>\d{1,6}(?:\.\d{1,4})?::)|(?<weight>\([^(){}|\n]*:\d+(?:\.\d+)?\))|(?<lora><lora:[^<>\n]*>)/gu;

interface Reading {
  readonly marks: Mark[];
  /** Braces that are not closed so far, by their place among the marks. */
  readonly open: number[];
}

function readSign(sign: string, from: number, { marks, open }: Reading): void {
  const isStray = sign === "}" && open.length === 0;
  const isPlain = sign === "|" && open.length === 0;
  if (isPlain) return;
  if (sign === "{") open.push(marks.length);
  if (sign === "}") open.pop();
  marks.push({ from, to: from + 1, kind: isStray ? "fault" : "choice" });
}

function marksOf(line: string, start: number, isKnown: (list: string) => boolean): Mark[] {
  const reading: Reading = { marks: [], open: [] };
  for (const { 0: whole, index, groups = {} } of line.matchAll(signs)) {
    const { list, sign, often, weight, lora } = groups;
    const from = start + index;
    const add = (kind: MarkKind) => reading.marks.push({ from, to: from + whole.length, kind });
    if (sign !== undefined) readSign(sign, from, reading);
    else if (list !== undefined) add(isKnown(list) ? "list" : "fault");
    else if (often !== undefined && reading.open.length > 0) add("choice");
    else if (weight !== undefined) add("weight");
    else if (lora !== undefined) add("fault");
  }
  for (const at of reading.open) {
    const mark = reading.marks[at];
    if (mark) reading.marks[at] = { ...mark, kind: "fault" };
  }
  return reading.marks;
}

/** Lists are found without accents and capitals. */
export const foldName = (name: string): string =>
  name.normalize("NFKD").replaceAll(/\p{M}/gu, "").toLowerCase();

interface Known {
  /** Names of lists; null until they are known: none is called unknown before. */
  readonly lists: ReadonlySet<string> | null;
  /** Each line is a prompt of its own. */
  readonly isList: boolean;
}

/** A prompt in pieces, in their order: together they are the text. */
export function piecesOf(text: string, { lists, isList }: Known): readonly Piece[] {
  if (text.length > maxCharacters) return [{ text, kind: null }];
  const isKnown = (list: string) => lists === null || lists.has(foldName(list));
  const marks: Mark[] = [];
  let start = 0;
  for (const line of isList ? text.split("\n") : [text]) {
    marks.push(...marksOf(line, start, isKnown));
    start += line.length + 1;
  }
  const pieces: Piece[] = [];
  let at = 0;
  for (const { from, to, kind } of marks) {
    if (from > at) pieces.push({ text: text.slice(at, from), kind: null });
    pieces.push({ text: text.slice(from, to), kind });
    at = to;
  }
  if (at < text.length) pieces.push({ text: text.slice(at), kind: null });
  return pieces;
}

/** What programs write into a prompt for a LoRA. */
export interface WrittenLora {
  readonly whole: string;
  readonly name: string;
  readonly weight: number;
}

export function lorasIn(text: string): readonly WrittenLora[] {
  const written = text
    .slice(0, maxCharacters)
    .matchAll(/<lora:([^<>:\n]{1,300})(?::([-+]?\d*\.?\d+))?(?::[^<>\n]{0,300})?>/gu);
  return [...written].map(({ 0: whole, 1: name = "", 2: weight = "1" }) => ({
    whole,
    name: name.trim(),
    weight: Number(weight),
  }));
}
