import { inArray, sql } from "drizzle-orm";
import { z } from "zod";
import { type Db, schema } from "../db/index.ts";
import { textForm } from "../images/index.ts";
import { isStorable } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { textArray } from "./recall/stems.ts";
import { type ConversationView, toConversation } from "./talks.ts";

const { assistantConversations, assistantMessages } = schema;

export const findTalksSchema = z.strictObject({
  text: z.string().trim().min(1).max(200).refine(isStorable, "must hold no NUL characters"),
});

interface FindInput extends z.output<typeof findTalksSchema> {
  readonly ownerId: string;
}

/** A part of the place where something was found; a hit has what was looked for. */
interface SnippetPart {
  readonly text: string;
  readonly isHit: boolean;
}

/** A conversation with the newest of its messages that have all words; null where only its title has them. */
interface FoundTalk extends ConversationView {
  readonly message: { readonly turnId: string; readonly role: "user" | "assistant" } | null;
  readonly snippet: readonly SnippetPart[];
}

const mostFound = 30;
/** Messages that are looked at one by one before an index is asked: what many have is found soonest among the newest. */
const walked = 600;
/** Bytes of their stored stems, each of which is sorted for it: of long messages fewer are looked at. */
const walkedBytes = 200_000;

/**
 * Own conversations whose title or one of whose messages has all words: stems, of the last word also a beginning, in every
 * script that the memory reads. Those with the words in their title come first, then the last said.
 */
export async function findTalks(
  { db }: Pick<Services, "db">,
  { ownerId, text }: FindInput,
): Promise<{ items: FoundTalk[] }> {
  const words = text.split(/\s+/u);
  const query = await readQuery(db, ownerId, words);
  if (query === "") return { items: [] };
  const [titled, said] = await Promise.all([
    findTitles(db, ownerId, query),
    findMessages(db, ownerId, query),
  ]);
  const saidBy = new Map(said.map((hit) => [hit.conversationId, hit]));
  const ids = [...new Set([...titled, ...saidBy.keys()])].slice(0, mostFound);
  if (ids.length === 0) return { items: [] };
  const hitIds = ids.flatMap((id) => saidBy.get(id)?.id ?? []);
  const [conversations, texts] = await Promise.all([
    db.select().from(assistantConversations).where(inArray(assistantConversations.id, ids)),
    hitIds.length === 0
      ? []
      : db.select().from(assistantMessages).where(inArray(assistantMessages.id, hitIds)),
  ]);
  const rowOf = new Map(conversations.map((row) => [row.id, row]));
  const textOf = new Map(texts.map((row) => [row.conversationId, row]));
  const items = ids.flatMap((id): FoundTalk[] => {
    const [row, message] = [rowOf.get(id), textOf.get(id)];
    if (!row) return [];
    if (!message) return [{ ...toConversation(row), message: null, snippet: [] }];
    const { id: messageId, runId, role } = message;
    const place = { turnId: runId ?? messageId, role };
    return [{ ...toConversation(row), message: place, snippet: snippetOf(message.text, words) }];
  });
  return { items };
}

/** A word whose beginnings are looked for; of one letter too much would be found. */
const isWord = /^[\p{L}\p{M}\p{N}]{2,}$/u;
/** Scripts that put no space between words: the memory reads them by two letters, and a run of more is no word of theirs. */
const spaceless =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
/** Scripts whose words are also read without what is written before them, such as an article. */
const prefixing = /[\p{Script=Arabic}\p{Script=Hebrew}]/u;
const mostWords = 12;

const quoted = (term: string) => `'${term.replaceAll("\\", "\\\\").replaceAll("'", "''")}'`;
const joined = (terms: readonly string[], sign: "&" | "|") =>
  terms.map((term) => `(${term})`).join(` ${sign} `);

interface ReadWord extends Record<string, unknown> {
  readonly form: string;
  /** Its stems, each behind the mark of the owner; none of a word that is in no index, such as "the". */
  readonly terms: readonly string[];
  readonly mark: string;
}

/** What must be there of a word, in the language of PostgreSQL; nothing of one that is in no index. */
function termsOf({ form, terms }: ReadWord): string[] {
  const parts = spaceless.test(form) ? terms.filter((term) => lettersOf(term) <= 2) : terms;
  return parts.length === 0 ? [] : [joined(parts.map(quoted), prefixing.test(form) ? "|" : "&")];
}

const lettersOf = (term: string) => Array.from(term.slice(term.indexOf(" ") + 1)).length;

const beginningsOf = ({ form, mark }: ReadWord) => (isWord.test(form) ? [`${quoted(mark + form)}:*`] : []);

/** The words as a query of PostgreSQL; "" where nothing can be looked for. */
async function readQuery(db: Db, ownerId: string, words: readonly string[]): Promise<string> {
  const texts = words.slice(0, mostWords);
  const read = await db.execute<ReadWord>(sql`
    select recall_form(word) as form, recall_terms(${ownerId}, word) as terms,
      left((recall_terms(${ownerId}, '0'))[1], -1) as mark
    from unnest(${textArray(texts)}) with ordinality words (word, place) order by place`);
  const whole = read.slice(0, -1).flatMap(termsOf);
  const ends = read.slice(-1).flatMap((last) => {
    const terms = termsOf(last);
    // One that is in no index may be the beginning of another, which is looked for where nothing else is.
    return terms.length === 0 && whole.length > 0 ? [] : [...terms, ...beginningsOf(last)];
  });
  return joined([...whole, ...(ends.length === 0 ? [] : [joined(ends, "|")])], "&");
}

async function findTitles(db: Db, ownerId: string, query: string): Promise<string[]> {
  const rows = await db.execute<{ id: string }>(sql`
    select id from ${assistantConversations} where owner_id || '' = ${ownerId}
      and recall_words(recall_terms(owner_id, title)) @@ ${query}::tsquery order by last_at desc, id desc limit ${mostFound}`);
  return rows.map(({ id }) => id);
}

interface Hit extends Record<string, unknown> {
  readonly id: string;
  readonly conversationId: string;
}

/** The newest message of each conversation that has the words. */
async function findMessages(db: Db, ownerId: string, query: string): Promise<Hit[]> {
  const has = sql`recall_words(terms) @@ ${query}::tsquery`;
  const newestOf = (hits: ReturnType<typeof sql>) =>
    db.execute<Hit>(sql`
      with hits as materialized (${hits}), newest as (
        select distinct on (conversation_id) id, conversation_id, at from hits order by conversation_id, at desc, id desc)
      select id, conversation_id as "conversationId" from newest order by at desc, id desc limit ${mostFound}`);
  const near = await newestOf(sql`
    select id, conversation_id, at from (
      select id, conversation_id, at, terms, sum(pg_column_size(terms)) over (order by at desc, id desc) as bytes
      from (select id, conversation_id, at, terms from ${assistantMessages}
        where owner_id = ${ownerId} order by at desc limit ${walked}) newest) last
    where bytes <= ${walkedBytes} and ${has}`);
  if (near.length === mostFound) return near;
  // The index of owners is kept out, which would read all that an owner said.
  return newestOf(
    sql`select id, conversation_id, at from ${assistantMessages} where owner_id || '' = ${ownerId} and ${has}`,
  );
}

/** Letters of a snippet before and behind its first hit. */
const before = 40;
const behind = 120;
const mostSearched = 20_000;
/** A stem is found by so much of the beginning of a word. */
const stemShare = 0.6;
const shortestStem = 3;

/** What stands about the first place with one of the words, with these marked; the beginning of the text where none is as it was typed. */
export function snippetOf(text: string, words: readonly string[]): SnippetPart[] {
  const line = text.slice(0, mostSearched).replaceAll(/\s+/gu, " ").trim();
  const folded = fold(line);
  const hits = words
    .flatMap((word) => placesOf(folded, textForm(word)))
    .toSorted((one, other) => one.from - other.from || other.to - one.to);
  const first = hits[0]?.from ?? 0;
  const from = first <= before ? 0 : startOfWord(line, wholeAt(line, first - before));
  const to = wholeAt(line, Math.min(line.length, first + behind));
  const parts: SnippetPart[] = [];
  let at = from;
  const add = (until: number, isHit: boolean) => {
    if (until > at) parts.push({ text: line.slice(at, until), isHit });
    at = Math.max(at, until);
  };
  for (const hit of hits) {
    if (hit.from < at || hit.to > to) continue;
    add(hit.from, false);
    add(hit.to, true);
  }
  add(to, false);
  const [cutBefore, cutBehind] = [from > 0 ? "…" : "", to < line.length ? "…" : ""];
  return parts.map((part, index) => ({
    ...part,
    text: `${index === 0 ? cutBefore : ""}${part.text}${index === parts.length - 1 ? cutBehind : ""}`,
  }));
}

/** This place, or the one before it where it is in the middle of a character. */
function wholeAt(line: string, place: number): number {
  return /[\uDC00-\uDFFF]/.test(line.charAt(place)) ? place - 1 : place;
}

function startOfWord(line: string, near: number): number {
  const space = line.indexOf(" ", near);
  return space === -1 || space > near + before / 2 ? near : space + 1;
}

interface Folded {
  readonly text: string;
  /** For each of its characters where it begins in the line, and one behind the last. */
  readonly places: readonly number[];
}

/** What searches read as a space. */
const isSeen = /[\s\p{P}]/u;
const letter = /\P{M}\p{M}*/gsu;

/** A line in the form of searches, letter by letter. */
function fold(line: string): Folded {
  const known = new Map<string, string>();
  const places: number[] = [];
  let text = "";
  for (const { 0: written, index } of line.matchAll(letter)) {
    const form = known.get(written) ?? (textForm(written) || (isSeen.test(written) ? " " : ""));
    known.set(written, form);
    for (let at = 0; at < form.length; at += 1) places.push(index);
    text += form;
  }
  places.push(line.length);
  return { text, places };
}

const isInWord = (character: string | undefined) =>
  character !== undefined && /[\p{L}\p{N}]/u.test(character);

/** Where words begin with this one; with less of it where none does, since stems are found. */
function placesOf(folded: Folded, word: string): Place[] {
  const least = Math.max(shortestStem, Math.ceil(word.length * stemShare));
  for (let length = word.length; length > 0; length -= 1) {
    if (length < word.length && length < least) break;
    const found = beginningsIn(folded, word.slice(0, length), length < word.length);
    if (found.length > 0) return found;
  }
  return [];
}

interface Place {
  readonly from: number;
  readonly to: number;
}

const mostPlaces = 20;

/** Where words begin with a part; of a stem the whole words. */
function beginningsIn({ text, places }: Folded, part: string, isStem: boolean): Place[] {
  const found: Place[] = [];
  for (let at = text.indexOf(part); at !== -1; at = text.indexOf(part, at + part.length)) {
    if (isInWord(text[at - 1]) && !spaceless.test(part)) continue;
    let end = at + part.length;
    while (isStem && isInWord(text[end])) end += 1;
    found.push({ from: places[at] ?? 0, to: places[end] ?? 0 });
    if (found.length === mostPlaces) break;
  }
  return found;
}
