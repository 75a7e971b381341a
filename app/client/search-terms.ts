import { type ListOrder, orderOf, parseSearch, type SearchOperator } from "@atelier/server/search-query";

/** Whether a search has a term, whatever the case of its letters. */
export function hasTerm(search: string, term: string): boolean {
  return parseSearch(search).some(({ source }) => source.toLowerCase() === term.toLowerCase());
}

/** Whether a search orders its pictures by meaning, not by day. */
export const isByMeaning = (search: string) =>
  parseSearch(search).some(
    ({ meaning, isNot }) => !isNot && "name" in meaning && ["near", "similar"].includes(meaning.name),
  );

/** Of a line that was typed; null where it asks for none. */
const orderOfSearch = (search: string): ListOrder | null => orderOf(parseSearch(search));

/** Whether a list begins at the newest picture, so that its months and jumps are those of the timeline. */
export const isNewestFirst = (search: string) =>
  !isByMeaning(search) && ["made", null].includes(orderOfSearch(search));

/** Whether a list goes from day to day. */
export const isByDay = (search: string) =>
  isNewestFirst(search) || (!isByMeaning(search) && orderOfSearch(search) === "oldest");

/** A search without its `order:`; undefined when nothing else is left of it. */
export function withoutOrder(search: string | undefined): string | undefined {
  const terms = parseSearch(search ?? "");
  const isOrder = ({ meaning }: (typeof terms)[number]) => "name" in meaning && meaning.name === "order";
  // As it was typed, unless there is something to take out.
  if (!terms.some(isOrder)) return search;
  const others = terms.filter((term) => !isOrder(term));
  return others.length === 0 ? undefined : others.map(({ source }) => source).join(" ");
}

/** Whether a search asks for one board and nothing else. */
export function isBoardAlone(search: string): boolean {
  const [term, ...others] = parseSearch(withoutOrder(search) ?? "");
  if (!term || term.isNot || others.length > 0 || !("name" in term.meaning)) return false;
  return term.meaning.name === "board" && term.meaning.text !== null;
}

/** Adds a term or takes it out; what it replaces goes with it, since no picture can be both. */
export function toggleTerm(search: string, term: string, replaced: readonly string[] = []): string {
  const gone = new Set([term, ...replaced].map((each) => each.toLowerCase()));
  const kept = parseSearch(search)
    .map(({ source }) => source)
    .filter((source) => !gone.has(source.toLowerCase()));
  return [...kept, ...(hasTerm(search, term) ? [] : [term])].join(" ");
}

export interface ReadableSearch {
  /** Without the terms that cannot be read; undefined when nothing is left. */
  readonly search: string | undefined;
  /** The first of those, as it was typed. */
  readonly wrong: { readonly source: string; readonly operator: SearchOperator } | null;
}

/** Leaves out what the server would refuse, so that a half-typed filter shows no error instead of pictures. */
export function readableSearch(text: string): ReadableSearch {
  const terms = parseSearch(text);
  const search = terms.flatMap(({ source, meaning }) => ("wrong" in meaning ? [] : [source])).join(" ");
  const [wrong = null] = terms.flatMap(({ source, meaning }) =>
    "wrong" in meaning ? [{ source, operator: meaning.wrong }] : [],
  );
  return { search: search === "" ? undefined : search, wrong };
}
