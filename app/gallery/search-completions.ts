import { searchOperators, type SearchOperator, termOf } from "@atelier/server/search-query";

/** A value that is offered for an operator, with what people call it. */
interface OfferedValue {
  readonly value: string;
  readonly label?: string;
}

/** Without a text model the other two find nothing, and with one plain words and a button do the same. */
export const offeredOperators = searchOperators.filter((name) => name !== "near" && name !== "similar");

export type OfferedValues = Partial<Record<SearchOperator, readonly OfferedValue[]>>;

export interface Completion {
  /** The whole text of the line once it is chosen. */
  readonly text: string;
  /** What is added, with its operator. */
  readonly term: string;
  readonly label: string | null;
  /** Set for an operator that still wants a value. */
  readonly operator: SearchOperator | null;
}

/** Examples that say more than the first value that is offered. */
const telling: Partial<Record<SearchOperator, string>> = {
  rating: ">=4",
  to: "2026-03",
  seed: "42",
  order: "rated",
};

/** A term with this operator, of what the user has where there is something; null where only a button makes one. */
export function exampleOf(name: SearchOperator, offered: OfferedValues): string | null {
  const value = telling[name] ?? offered[name]?.[0]?.value;
  return value === undefined ? null : termOf(name, value);
}

const mostCompletions = 8;
/** The last, unfinished term: a minus, an operator, and the value as far as it is typed. */
const lastTerm =
  /(?:^|\s)(?<not>[-–−]?)(?:(?<operator>[a-z]+)[:：])?(?<value>["“„«][^"“”„«»]*|[^\s"“”„«»]*)$/iu;

interface Unfinished {
  /** What stands before it. */
  readonly head: string;
  readonly minus: string;
  /** As it was typed; it need not be one of ours. */
  readonly operator: string | undefined;
  /** In lower case, without its quote. */
  readonly sought: string;
}

function unfinishedTerm(text: string): Unfinished {
  const { not: minus = "", operator, value = "" } = lastTerm.exec(text)?.groups ?? {};
  const lengths = value.length + minus.length + (operator === undefined ? 0 : operator.length + 1);
  return {
    head: text.slice(0, text.length - lengths),
    minus: minus === "" ? "" : "-",
    operator: operator?.toLowerCase(),
    sought: value.replace(/^["“„«]/u, "").toLowerCase(),
  };
}

/** What the end of a text may become: an operator, then a value of it. */
export function completionsOf(text: string, offered: OfferedValues): Completion[] {
  const unfinished = unfinishedTerm(text);
  const { head, minus, operator, sought } = unfinished;
  const valuesOf = (name: SearchOperator) => valueCompletions(name, unfinished, offered[name] ?? []);
  if (operator !== undefined) {
    const known = searchOperators.find((name) => name === operator);
    return known ? valuesOf(known).slice(0, mostCompletions) : [];
  }
  const operators = offeredOperators
    .filter((name) => name.startsWith(sought))
    .map((name) => ({
      text: `${head}${minus}${name}:`,
      term: `${minus}${name}:`,
      label: null,
      operator: name,
    }));
  // A blank after a word waits for the next one; an empty line shows what there is.
  if (sought === "") return head === "" || minus !== "" ? operators : [];
  const named = sought.length < 2 ? [] : [...valuesOf("board"), ...valuesOf("tag")];
  return [...operators, ...named].slice(0, mostCompletions);
}

function valueCompletions(
  name: SearchOperator,
  { head, minus, sought }: Unfinished,
  values: readonly OfferedValue[],
): Completion[] {
  return values
    .filter(({ value, label = "" }) => [value, label].some((each) => each.toLowerCase().includes(sought)))
    .filter(({ value }) => value.toLowerCase() !== sought)
    .map(({ value, label = null }) => {
      const term = termOf(name, value, minus === "-");
      return { text: `${head}${term} `, term, label, operator: null };
    });
}
