import { setImmediate as nextTurn } from "node:timers/promises";
import { AppError, keptBy } from "../platform/index.ts";
import { currentWords, type Messages } from "../words.ts";

/** A text with choices: what is drawn from it is one plain text. */
type Template = readonly Part[];
type Part = string | { readonly choices: readonly Choice[] } | { readonly list: string };

interface Choice {
  /** How often it is drawn beside the others. */
  readonly weight: number;
  readonly parts: Template;
}

const deepest = 20;
const special = /[\\{}|]|__/gu;
/** Letters, digits, and between them single marks: `hair-colour`, `animals/cats`, `two_words`. */
const namePattern = String.raw`[\p{L}\p{N}]+(?:[\-/_. ][\p{L}\p{N}]+)*`;
export const listName: RegExp = new RegExp(`^${namePattern}$`, "u");
const listAt = new RegExp(`__(${namePattern})__`, "uy");
const digit = /\d/;
const weightAt = /(\d{1,6}(?:\.\d{1,4})?)::/y;
const severalAt = /\d+(?:-\d+)?\$\$/y;
const escaped = /[{}|_]/;

type Fault = keyof Messages["templateFaults"];
type Told = Readonly<Record<string, string | number>>;

/** `template_invalid` with its sentence in the language of whoever reads it. */
export function templateFault(fault: Fault, told: Told = {}, details: Told = {}): AppError {
  // Safe cast: a fault and what its sentence tells are written side by side, and a test draws each of them.
  const message = currentWords().t(`templateFaults.${fault}`, told as never);
  return new AppError("template_invalid", message, { details });
}

/**
 * Reads `{a|b}`, `{2::a|b}` and `__list__`, nested as one likes; a backslash before one of `{ } | _` writes it as it is.
 * Throws `template_invalid` with the place of the fault as `details.at`.
 */
export function parseTemplate(text: string): Template {
  const reader = { text, at: 0 };
  const parts = readParts(reader, 0);
  if (reader.at < text.length) throw closesNothing(reader.at);
  return parts;
}

const closesNothing = (at: number) =>
  templateFault("closesNothing", { brace: "}", escaped: String.raw`\}` }, { at });

interface Reader {
  readonly text: string;
  at: number;
}

/** Up to the end of the text, or inside braces up to `|` or `}`. */
function readParts(reader: Reader, depth: number): Template {
  const parts: Part[] = [];
  let plain = "";
  for (;;) {
    const next = readPart(reader, depth);
    if (next === null) break;
    if (typeof next === "string") plain += next;
    else {
      if (plain !== "") parts.push(plain);
      plain = "";
      parts.push(next);
    }
  }
  if (plain !== "") parts.push(plain);
  return parts;
}

function readPart(reader: Reader, depth: number): Part | null {
  const { text, at } = reader;
  if (at >= text.length) return null;
  special.lastIndex = at;
  const found = special.exec(text)?.index ?? text.length;
  if (found !== at) {
    reader.at = found;
    return text.slice(at, found);
  }
  const sign = text[at];
  if (sign === "{") return readChoices(reader, depth);
  if (sign === "_") return readList(reader);
  if (sign === "\\") return readEscape(reader);
  if (depth > 0) return null;
  if (sign === "}") throw closesNothing(at);
  reader.at += 1;
  return "|";
}

/** Other programs of the field write `\(`, which stays as it is. */
function readEscape(reader: Reader): string {
  const next = reader.text[reader.at + 1] ?? "";
  const isEscape = escaped.test(next);
  reader.at += isEscape ? 2 : 1;
  return isEscape ? next : "\\";
}

function readList(reader: Reader): Part {
  listAt.lastIndex = reader.at;
  const [whole, list] = listAt.exec(reader.text) ?? [];
  if (whole === undefined || list === undefined) {
    // A row of underscores, or two of them in a word, name nothing.
    const [line = "__"] = /^_+/.exec(reader.text.slice(reader.at)) ?? [];
    reader.at += line.length;
    return line;
  }
  reader.at += whole.length;
  return { list };
}

function readChoices(reader: Reader, depth: number): Part {
  const start = reader.at;
  if (depth === deepest) throw templateFault("tooDeep", { most: deepest }, { at: start });
  const choices: Choice[] = [];
  do {
    reader.at += 1;
    const weight = readWeight(reader);
    choices.push({ weight, parts: readParts(reader, depth + 1) });
  } while (reader.text[reader.at] === "|");
  if (reader.text[reader.at] !== "}")
    throw templateFault("notClosed", { brace: "{", escaped: String.raw`\{` }, { at: start });
  reader.at += 1;
  if (choices.every(({ weight }) => weight === 0)) throw templateFault("allZero", {}, { at: start });
  return { choices };
}

function readWeight(reader: Reader): number {
  if (!digit.test(reader.text.charAt(reader.at))) return 1;
  severalAt.lastIndex = reader.at;
  if (severalAt.test(reader.text)) throw templateFault("several", { written: "2$$" }, { at: reader.at });
  weightAt.lastIndex = reader.at;
  const [whole, weight] = weightAt.exec(reader.text) ?? [];
  if (whole === undefined) return 1;
  reader.at += whole.length;
  return Number(weight);
}

/** The lists that a text names, as they are written. Throws what `parseTemplate` throws. */
export function listsIn(template: Template): readonly string[] {
  return template.flatMap((part) => {
    if (typeof part === "string") return [];
    return "list" in part ? [part.list] : part.choices.flatMap(({ parts }) => listsIn(parts));
  });
}

/** The lines of a list by its name as it is written, the same object for the same list; undefined for one that is not there. */
export type Lists = (name: string) => readonly Choice[] | undefined;

/** The lines of a list as choices: empty ones and those after `#` are none, `2::a line` has a weight. */
export function choicesOf(lines: readonly string[]): readonly Choice[] {
  return lines
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => {
      const reader = { text: line, at: 0 };
      const weight = readWeight(reader);
      return { weight, parts: parseTemplate(line.slice(reader.at)) };
    });
}

/** Characters that are read at a time: a few milliseconds, after which other requests have their turn. */
const charactersAtOnce = 10_000;

/** `choicesOf` for a list of any length. */
export async function readLines(lines: readonly string[]): Promise<readonly Choice[]> {
  const choices: Choice[] = [];
  let characters = 0;
  for (const line of lines) {
    choices.push(...choicesOf([line]));
    characters += line.length;
    if (characters < charactersAtOnce) continue;
    characters = 0;
    await nextTurn();
  }
  return choices;
}

interface Drawing {
  readonly lists: Lists;
  /** 0 up to 1, without 1. */
  readonly random: () => number;
  /** What is left of `mostSteps`; texts that are drawn for one prompt share it. */
  readonly left?: { steps: number };
}

/** More than any prompt may have. */
const longest = 20_000;
/** Parts that are looked at for one prompt: lists that name each other many times would multiply for ever without drawing a letter. */
export const mostSteps = 20_000;

/** Where a drawing is: what it has left of `mostSteps`, and the lists that it is in. */
interface Progress {
  readonly left: { steps: number };
  readonly within: readonly (readonly Choice[])[];
}

/** One plain text of a template. Throws `template_invalid` for a list that is not there, is empty or holds itself, and for what never ends. */
export function draw(template: Template, drawing: Drawing): string {
  return drawParts(template, drawing, { left: drawing.left ?? { steps: mostSteps }, within: [] });
}

function drawParts(template: Template, drawing: Drawing, progress: Progress): string {
  let text = "";
  for (const part of template) {
    progress.left.steps -= 1;
    text += typeof part === "string" ? part : drawPart(part, drawing, progress);
    if (text.length > longest || progress.left.steps < 0) throw templateFault("tooLong");
  }
  return text;
}

function drawPart(part: Exclude<Part, string>, drawing: Drawing, progress: Progress): string {
  if ("choices" in part) return drawParts(pick(part.choices, drawing), drawing, progress);
  const choices = lookUp(part.list, drawing.lists);
  if (progress.within.includes(choices)) throw holdsItself(part.list);
  const within = [...progress.within, choices];
  return drawParts(pick(choices, drawing), drawing, { ...progress, within });
}

const holdsItself = (list: string) => templateFault("holdsItself", { list: `__${list}__` });

function lookUp(list: string, lists: Lists): readonly Choice[] {
  const name = `__${list}__`;
  const choices = lists(list);
  if (choices === undefined) throw templateFault("noList", { list: name }, { list });
  if (choices.length === 0) throw templateFault("emptyList", { list: name });
  return choices;
}

/** The sum of the weights up to each line: a list may have thousands, and is drawn from thousands of times. */
const sumsOf = keptBy((choices: readonly Choice[]) => {
  let sum = 0;
  return choices.map(({ weight }) => (sum += weight));
});

function pick(choices: readonly Choice[], { random }: Drawing): Template {
  const sums = sumsOf(choices);
  const drawn = random() * (sums.at(-1) ?? 0);
  let [low, high] = [0, choices.length - 1];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (drawn < (sums[middle] ?? 0)) high = middle;
    else low = middle + 1;
  }
  return choices[low]?.parts ?? [];
}

/** How many texts can be drawn at most, up to the largest whole number; equal ones are counted each. Throws as `draw` for lists. */
export function countTexts(template: Template, lists: Lists): number {
  return countParts(template, { lists, known: new Map() });
}

interface Counting {
  readonly lists: Lists;
  /** How many texts each list has, counted once; null while it is counted. */
  readonly known: Map<readonly Choice[], number | null>;
}

const upToMost = (count: number) => Math.min(count, Number.MAX_SAFE_INTEGER);

function countParts(template: Template, counting: Counting): number {
  return template.reduce((product, part) => upToMost(product * countPart(part, counting)), 1);
}

function countPart(part: Part, counting: Counting): number {
  if (typeof part === "string") return 1;
  if (!("list" in part)) return countChoices(part.choices, counting);
  const choices = lookUp(part.list, counting.lists);
  const known = counting.known.get(choices);
  if (known === null) throw holdsItself(part.list);
  if (known !== undefined) return known;
  counting.known.set(choices, null);
  const count = countChoices(choices, counting);
  counting.known.set(choices, count);
  return count;
}

function countChoices(choices: readonly Choice[], counting: Counting): number {
  return choices.reduce(
    (sum, { weight, parts }) => upToMost(sum + (weight === 0 ? 0 : countParts(parts, counting))),
    0,
  );
}

/** The same numbers for the same seed (mulberry32). */
export function randomOf(seed: number): () => number {
  let state = (seed ^ Math.floor(seed / 2 ** 32)) >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
