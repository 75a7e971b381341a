import { randomInt } from "node:crypto";
import { z } from "zod";
import type { PromptTemplate, StyleParts } from "../db/index.ts";
import { isAppError, pictureLimits } from "../platform/index.ts";
import type { Services } from "../services.ts";
import {
  countTexts,
  draw,
  type Lists,
  listsIn,
  mostSteps,
  parseTemplate,
  randomOf,
  readLines,
  templateFault,
} from "./language.ts";
import { findPresets, keyOf, promptPlace } from "./presets.ts";

/** Of one prompt. */
export const mostStyles = 8;
const mostSeed = Number.MAX_SAFE_INTEGER;
const { promptCharacters: maxCharacters } = pictureLimits;

/** In a request: its prompts are templates. */
export const templateSchema = z.strictObject({
  styles: z
    .array(z.string().min(1).max(60))
    .max(mostStyles)
    .default([])
    .describe("Names of styles, one's own or the studio's, put around the prompts in this order."),
  seed: z
    .number()
    .int()
    .min(0)
    .max(mostSeed)
    .optional()
    .describe(
      "Draws the same from choices and lists again. Default: the seed of the picture, else a random one.",
    ),
});

type AskedTemplate = z.output<typeof templateSchema>;

interface Prompts {
  readonly prompt?: string | undefined;
  readonly negativePrompt?: string | undefined;
}

export interface ComposeInput extends Prompts {
  readonly userId: string;
  readonly template: AskedTemplate;
  /** Of the picture. */
  readonly seed?: number | undefined;
  /** Of the same user, where several prompts are composed for one request. */
  readonly known?: KnownLists | undefined;
}

/** Prompts as an engine gets them, with what they were made from. */
interface Composed extends Prompts {
  readonly template: PromptTemplate;
}

/** Draws choices and lists and puts the styles around them. Throws `template_invalid`. */
export async function composePrompts(
  services: Pick<Services, "db">,
  { userId, template, prompt, negativePrompt, seed: pictureSeed, known }: ComposeInput,
): Promise<Composed> {
  const styles = await readStyles(services, userId, template.styles);
  const written = [prompt, negativePrompt].map((text) => parseTemplate(text ?? ""));
  const around = styles.map(({ prompt: own, negativePrompt: without }) => [own, without].map(partsOf));
  const all = [...written, ...around.flat(2)];
  const lists = await readLists(services, { userId, names: all.flatMap(listsIn), known });
  const isDrawn = all.some((parts) => parts.some((part) => typeof part !== "string"));
  const seed = template.seed ?? pictureSeed ?? randomInt(2 ** 32);
  const drawing = { lists, random: randomOf(seed), left: { steps: mostSteps } };
  const [first = "", second = ""] = written.map((parts) => draw(parts, drawing).trim());
  const put = (at: 0 | 1, text: string) =>
    around.reduce(
      (inside, parts) =>
        joined(
          inside,
          (parts[at] ?? []).map((one) => draw(one, drawing)),
        ),
      text,
    );
  // Without a prompt some kinds do something else, which a style must not change.
  const whole = prompt === undefined ? "" : put(0, first);
  const without = put(1, second);
  checkDrawn({ isEmpty: prompt !== undefined && whole === "", texts: [whole, without] });
  return {
    ...(whole === "" ? {} : { prompt: whole }),
    ...(without === "" ? {} : { negativePrompt: without }),
    template: {
      prompt: prompt ?? null,
      negativePrompt: negativePrompt ?? null,
      drawn: { prompt: orNull(first), negativePrompt: orNull(second) },
      seed: isDrawn ? seed : null,
      styles,
    },
  };
}

const orNull = (text: string) => (text === "" ? null : text);

function checkDrawn({ isEmpty, texts }: { readonly isEmpty: boolean; readonly texts: readonly string[] }) {
  const longest = Math.max(...texts.map(({ length }) => length));
  if (longest > maxCharacters)
    throw templateFault("tooManyCharacters", { count: longest, most: maxCharacters });
  if (isEmpty) throw templateFault("nothingDrawn");
}

/** What stands before and behind the place of the prompt; one part alone is put behind it. */
const partsOf = (text: string) => (text === "" ? [] : text.split(promptPlace).map(parseTemplate));

function joined(inside: string, parts: readonly string[]): string {
  const [before, behind] = parts;
  if (before === undefined) return inside;
  if (behind !== undefined) return `${before}${inside}${behind}`.trim();
  return [inside, before].filter((text) => text !== "").join(", ");
}

async function readStyles(
  services: Pick<Services, "db">,
  userId: string,
  names: readonly string[],
): Promise<(StyleParts & { readonly name: string })[]> {
  const found = await findPresets(services, { userId, type: "style", keys: names.map(keyOf) });
  return names.map((name) => {
    const style = found.get(keyOf(name));
    if (style === undefined) throw templateFault("noStyle", { style: name }, { style: name });
    return { name: style.name, prompt: style.prompt, negativePrompt: style.negativePrompt };
  });
}

/** A list may name further ones. */
const deepestLists = 10;
/** Of all lists that one prompt reaches. */
const mostListCharacters = 400_000;

interface KnownList {
  /** Undefined where there is none of the name. */
  readonly choices: ReturnType<Lists>;
  /** The keys of the lists that its lines name. */
  readonly names: readonly string[];
  readonly characters: number;
}

/** Lists that were read for a request, by key: all prompts of a batch have them parsed once. */
export type KnownLists = Map<string, KnownList>;

interface Reading {
  readonly userId: string;
  readonly names: readonly string[];
  readonly known?: KnownLists | undefined;
}

async function readLists(
  services: Pick<Services, "db">,
  { userId, names, known = new Map() }: Reading,
): Promise<Lists> {
  const reached = new Set<string>();
  let characters = 0;
  let wanted = keysOf(names);
  for (let round = 0; wanted.length > 0 && round < deepestLists; round += 1) {
    for (const key of wanted) reached.add(key);
    const unread = wanted.filter((key) => !known.has(key));
    const found = await findPresets(services, { userId, type: "list", keys: unread });
    for (const key of wanted) {
      const list =
        known.get(key) ?? (await parseList(found.get(key)?.lines, mostListCharacters - characters));
      known.set(key, list);
      characters += list.characters;
      if (characters > mostListCharacters) throw templateFault("listsTooLong");
    }
    const further = keysOf(wanted.flatMap((key) => known.get(key)?.names ?? []));
    wanted = further.filter((key) => !reached.has(key));
  }
  return (name) => known.get(keyOf(name))?.choices;
}

const keysOf = (names: readonly string[]) => [...new Set(names.map(keyOf))];

async function parseList(lines: readonly string[] | undefined, mostCharacters: number): Promise<KnownList> {
  if (lines === undefined) return { choices: undefined, names: [], characters: 0 };
  const characters = lines.join("").length;
  if (characters > mostCharacters) throw templateFault("listsTooLong");
  const choices = await readLines(lines);
  const names = keysOf(choices.flatMap(({ parts }) => listsIn(parts)));
  return { choices, names, characters };
}

const shownExamples = 3;

/** What would become of prompts that are still being written. */
export interface PromptPreview {
  /** Some texts that may be drawn; with a seed the first is the one that it draws. */
  readonly examples: readonly { readonly prompt: string; readonly negativePrompt: string }[];
  /** How many different texts are possible at most, with one seed: one. */
  readonly texts: number;
  readonly problem: {
    readonly message: string;
    /** The prompt that has the fault, from its place on; null for a fault of lists or styles. */
    readonly from: string | null;
  } | null;
}

export const previewSchema = z.strictObject({
  prompt: z.string().max(maxCharacters),
  negativePrompt: z.string().max(maxCharacters).default(""),
  template: templateSchema.prefault({}),
});

/** Never throws for what is written: a fault is part of the answer. */
export async function previewPrompts(
  services: Pick<Services, "db">,
  { userId, prompt, negativePrompt, template }: z.output<typeof previewSchema> & { readonly userId: string },
): Promise<PromptPreview> {
  try {
    const first = template.seed ?? randomInt(2 ** 32);
    const all = [prompt, negativePrompt].map(parseTemplate);
    const known: KnownLists = new Map();
    const lists = await readLists(services, { userId, names: all.flatMap(listsIn), known });
    const texts = all.reduce((product, parts) => product * countTexts(parts, lists), 1);
    const examples: { prompt: string; negativePrompt: string }[] = [];
    for (let at = 0; at < Math.min(shownExamples, texts); at += 1) {
      const own = { ...template, seed: first + at };
      const made = await composePrompts(services, {
        userId,
        prompt,
        negativePrompt,
        template: own,
        known,
      });
      examples.push({ prompt: made.prompt ?? "", negativePrompt: made.negativePrompt ?? "" });
    }
    return { examples, texts: Math.min(texts, Number.MAX_SAFE_INTEGER), problem: null };
  } catch (error) {
    if (!isAppError(error) || error.code !== "template_invalid") throw error;
    const from = [prompt, negativePrompt].map(fromFault).find((text) => text !== null) ?? null;
    return { examples: [], texts: 0, problem: { message: error.message, from } };
  }
}

/** What stands from the fault of a prompt on; null without a fault. */
function fromFault(text: string): string | null {
  try {
    parseTemplate(text);
    return null;
  } catch (error) {
    const at = isAppError(error) ? error.details?.["at"] : undefined;
    return typeof at === "number" ? text.slice(at) : null;
  }
}
