import { defaultFilter } from "cmdk";
import type { LucideIcon } from "lucide-react";

/** In the order in which they stand while nothing is typed. */
const groups = ["pages", "actions", "boards", "work", "pictures"] as const;
type Group = (typeof groups)[number];

interface Cover {
  readonly src: string;
  readonly thumbhash?: string | undefined;
}

/** Something that the palette offers. */
export interface Choice {
  /** Without blanks, and the same from one day to the next. */
  readonly key: string;
  readonly group: Group;
  readonly label: string;
  readonly detail?: string | undefined;
  /** Other words by which it is found. */
  readonly words?: readonly string[];
  /** A page to go to; a choice without one acts. */
  readonly href?: string | undefined;
  readonly act?: () => void;
  readonly icon?: LucideIcon;
  readonly cover?: Cover | undefined;
  /** The shortcut that does the same, in the notation of `aria-keyshortcuts`. */
  readonly keys?: string;
  /** The palette stays, because the choice asks for more. */
  readonly staysOpen?: true;
  /** Not kept as a recent choice. */
  readonly isPassing?: true;
}

export interface Section {
  readonly title: Group | "recent";
  readonly choices: readonly Choice[];
}

/** A choice as it is stored. */
export type Recent = Pick<Choice, "key" | "group" | "label" | "detail" | "href" | "cover">;

const mostRecents = 12;
const shownRecents = 5;

const isText = (value: unknown): value is string => typeof value === "string";
/** An address of this studio; `//` begins one of another. */
const isOwn = (value: unknown): value is string => isText(value) && /^\/(?!\/)/.test(value);
const field = (value: object, name: string): unknown => Reflect.get(value, name);

function readRecent(stored: unknown): Recent[] {
  if (typeof stored !== "object" || stored === null) return [];
  const [key, label, detail, href] = ["key", "label", "detail", "href"].map((name) => field(stored, name));
  const group = groups.find((name) => name === field(stored, "group"));
  if (!isText(key) || !isText(label) || group === undefined) return [];
  const found = field(stored, "cover");
  const src = typeof found === "object" && found !== null ? field(found, "src") : undefined;
  return [
    {
      key,
      group,
      label,
      detail: isText(detail) ? detail : undefined,
      href: isOwn(href) ? href : undefined,
      cover: isOwn(src) ? { src } : undefined,
    },
  ];
}

/** Reads what was stored; what is no choice is left out. */
export function parseRecents(text: string | null): readonly Recent[] {
  let stored: unknown;
  try {
    stored = JSON.parse(text ?? "[]");
  } catch {
    return [];
  }
  return Array.isArray(stored) ? stored.flatMap(readRecent).slice(0, mostRecents) : [];
}

/** The recent choices after another one. */
export function withRecent(recents: readonly Recent[], choice: Choice): readonly Recent[] {
  if (choice.isPassing === true) return recents;
  const { key, group, label, detail, href, cover } = choice;
  const others = recents.filter((recent) => recent.key !== key);
  return [
    { key, group, label: label.slice(0, 500), detail: detail?.slice(0, 500), href, cover },
    ...others,
  ].slice(0, mostRecents);
}

/** Lower case, without accents. */
const fold = (text: string) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();

/** Below this, letters that stand somewhere in this order would count as found. */
const leastScore = 0.1;
/** A word that stands in the detail alone. */
const detailScore = 0.12;

/** 0..1, 0 when a typed word is not found. */
export function scoreOf({ label, detail = "", words = [] }: Choice, text: string): number {
  const names = [label, ...words].map(fold);
  const typed = fold(text).split(/\s+/).filter(Boolean);
  const scores = typed.map((word) => {
    const best = Math.max(...names.map((name) => defaultFilter(name, word, [])));
    return best >= leastScore ? best : fold(detail).includes(word) ? detailScore : 0;
  });
  return scores.length === 0 ? 0 : Math.min(...scores);
}

const mostIdle: Readonly<Record<Group, number>> = { pages: 50, actions: 50, boards: 5, work: 4, pictures: 0 };
const mostFound = 6;

/** Pages, actions and boards come and go, and have the names of today; a picture or a job is shown as it was stored. */
function recall(choices: readonly Choice[], { key, group, ...stored }: Recent): Choice | undefined {
  const known = choices.find((choice) => choice.key === key);
  if (known !== undefined) return known;
  return group === "work" || group === "pictures" ? { key, group, ...stored } : undefined;
}

function idleSections(choices: readonly Choice[], recents: readonly Recent[]): Section[] {
  const recent = recents.flatMap((each) => recall(choices, each) ?? []).slice(0, shownRecents);
  const shown = new Set(recent.map(({ key }) => key));
  const others = groups.map((title) => ({
    title,
    choices: choices.filter(({ key, group }) => group === title && !shown.has(key)).slice(0, mostIdle[title]),
  }));
  return [{ title: "recent", choices: recent }, ...others];
}

/** Of equal ones, what was chosen before comes first. */
function foundSections(choices: readonly Choice[], text: string, recents: readonly Recent[]): Section[] {
  const recentKeys = new Set(recents.map(({ key }) => key));
  const scored = choices
    .filter(({ group }) => group !== "pictures")
    .map((choice) => ({ choice, score: scoreOf(choice, text) }))
    .filter(({ score }) => score > 0)
    .toSorted(
      (a, b) =>
        b.score - a.score || Number(recentKeys.has(b.choice.key)) - Number(recentKeys.has(a.choice.key)),
    );
  // The group of the best one first.
  const titles = [...new Set(scored.map(({ choice }) => choice.group))];
  const found = titles.map((title) => ({
    title,
    choices: scored.flatMap(({ choice }) => (choice.group === title ? [choice] : [])).slice(0, mostFound),
  }));
  return [...found, { title: "pictures", choices: choices.filter(({ group }) => group === "pictures") }];
}

/**
 * What is offered for a text. Without one: recent choices, then the others of each group; else what the text finds, the best
 * first, and last the pictures, which the server has found.
 */
export function sectionsOf(
  choices: readonly Choice[],
  text: string,
  recents: readonly Recent[],
): readonly Section[] {
  const sections =
    text.trim() === "" ? idleSections(choices, recents) : foundSections(choices, text, recents);
  return sections.filter((section) => section.choices.length > 0);
}
