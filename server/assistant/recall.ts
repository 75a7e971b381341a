import { type SQL, sql } from "drizzle-orm";
import { schema } from "../db/index.ts";
import type { Services } from "../services.ts";
import { readHints } from "./recall-query.ts";
import { type Candidate, rankCandidates } from "./recall-score.ts";
import { readCorpus, readTerms, type Term, textArray } from "./recall-stems.ts";

const { assistantMessages, memories } = schema;

interface Period {
  readonly from: Date | null;
  readonly to: Date | null;
}

export interface RecallOptions {
  readonly limit: number;
  /** Only what was said within it. */
  readonly period?: Period | null;
  /** Only memories with one of these tags. */
  readonly tags?: readonly string[];
}

/** Something that the assistant remembers, with how well it fits the query. */
export interface RecallHit {
  readonly kind: "memory" | "message";
  readonly id: string;
  readonly conversationId: string | null;
  readonly text: string;
  /** Of a message both are its time. */
  readonly from: Date;
  readonly to: Date;
  readonly score: number;
}

/** Rows that the stems of a query bring together, the rarest stems first. */
const candidateLimit = 2_000;
/** The best of them, whose neighbours are read. */
const neighbourhoods = 100;
const reach = 3;
/** A name says less than a thing: both speakers of a talk say it. */
const nameWeight = 0.2;

/**
 * What a user's memory has about a query, best first: messages and memories, found by stems, ranked by `recall-score.ts`.
 * Nothing of another user is read: each stem in the index belongs to its owner.
 */
export async function recall(
  { db }: Pick<Services, "db">,
  userId: string,
  query: string,
  { limit, period = null, tags = [] }: RecallOptions,
): Promise<RecallHit[]> {
  const reader: Reader = { db, userId, where: whereOf(period, tags) };
  const hints = readHints(query);
  const [corpus, terms, speakers] = await Promise.all([
    readCorpus(reader),
    readTerms(reader, query),
    readSpeakers(reader, hints.names),
  ]);
  const rare = chooseTerms(terms);
  if (rare.length === 0) return [];
  const weighed = terms.map((term): Term => {
    const isName = speakers.some((name) => term.key.endsWith(` ${name}`));
    return isName ? { ...term, weight: nameWeight } : term;
  });
  const input = { terms: weighed, corpus, dates: hints.dates };
  const found = await readCandidates(reader, { terms, rare, speakers });
  const best = rankCandidates(found, input).slice(0, neighbourhoods);
  const around = await readNeighbours(
    reader,
    best.map(({ candidate }) => candidate),
    { terms, speakers },
  );
  const ranked = rankCandidates(mergeNeighbours(found, around), input).slice(0, limit);
  return readTexts(reader, ranked);
}

interface Reader extends Pick<Services, "db"> {
  readonly userId: string;
  readonly where: { readonly messages: SQL; readonly memories: SQL };
}

function whereOf(period: Period | null, tags: readonly string[]): Reader["where"] {
  const from = period?.from?.toISOString();
  const to = period?.to?.toISOString();
  const all = (conditions: readonly (SQL | false)[]) =>
    sql.join([sql`true`, ...conditions.filter((condition) => condition !== false)], sql` and `);
  return {
    messages: all([
      from !== undefined && sql`at >= ${from}`,
      to !== undefined && sql`at <= ${to}`,
      tags.length > 0 && sql`false`,
    ]),
    memories: all([
      from !== undefined && sql`period_end >= ${from}`,
      to !== undefined && sql`period_start <= ${to}`,
      tags.length > 0 && sql`tags && ${textArray(tags)}`,
    ]),
  };
}

/** The rarest stems whose rows can be read together; at least one. */
function chooseTerms(terms: readonly Term[]): Term[] {
  let rows = 0;
  return terms
    .toSorted((one, other) => one.documents - other.documents)
    .filter(({ documents }, at) => at === 0 || (rows += documents) <= candidateLimit);
}

/** Those of the names in the query that speakers of the user's talks have. */
async function readSpeakers({ db, userId }: Reader, names: readonly string[]): Promise<string[]> {
  if (names.length === 0) return [];
  const rows = await db.execute<{ name: string }>(sql`
    select name from unnest(${textArray(names)}) name
    where exists (select from ${assistantMessages} m where m.owner_id = ${userId} and m.speaker is not null and lower(m.speaker) = name)`);
  return rows.map(({ name }) => name);
}

interface Wanted {
  readonly terms: readonly Term[];
  readonly speakers: readonly string[];
}

/** SQL expression: which of the terms a row has, one bit each. */
function maskOf(terms: readonly Term[], column: SQL): SQL {
  const bits = terms.map(
    ({ key }, at) => sql`(case when ${column} @> array[${key}] then ${1 << at}::int else 0 end)`,
  );
  return sql.join(bits, sql` + `);
}

/** The columns of a candidate of the log. */
function messageColumns({ terms, speakers }: Wanted, table: string): SQL {
  const of = (column: string) => sql.raw(`${table}.${column}`);
  const isBySpeaker =
    speakers.length > 0
      ? sql`coalesce(lower(${of("speaker")}) = any(${textArray(speakers)}), false)`
      : sql`false`;
  return sql`'message' as kind, ${of("id")}, ${of("conversation_id")} as "conversationId", ${of("at")} as "from", ${of("at")} as "to",
    ${maskOf(terms, of("terms"))} as mask, cardinality(${of("terms")}) as length, ${of("text")} ~ '\\?\\s*$' as "isQuestion",
    ${isBySpeaker} as "isBySpeaker"`;
}

type Row = Omit<Candidate, "from" | "to" | "before" | "after"> & Record<"from" | "to", unknown>;

const toCandidate = (row: Row): Candidate => ({
  ...row,
  from: new Date(String(row.from)),
  to: new Date(String(row.to)),
  before: [],
  after: [],
});

async function readCandidates(
  { db, userId, where }: Reader,
  wanted: Wanted & { readonly rare: readonly Term[] },
): Promise<Candidate[]> {
  const keys = textArray(wanted.rare.map(({ key }) => key));
  const rows = await db.execute<Row & Record<string, unknown>>(sql`
    (select ${messageColumns(wanted, "m")} from ${assistantMessages} m
      where m.owner_id = ${userId} and m.terms && ${keys} and m.is_recalled and ${where.messages} limit ${candidateLimit})
    union all
    (select 'memory', m.id, m.conversation_id, m.period_start, m.period_end, ${maskOf(wanted.terms, sql`m.terms`)},
      cardinality(m.terms), false, false from ${memories} m
      where m.owner_id = ${userId} and m.terms && ${keys} and ${where.memories} limit ${candidateLimit})`);
  return rows.map(toCandidate);
}

interface Neighbour extends Candidate {
  /** The message that it is near to, and how many messages away: negative before it. */
  readonly of: string;
  readonly step: number;
}

/** Up to three messages before and after each, in the same conversation. */
async function readNeighbours(
  { db, where }: Reader,
  candidates: readonly Candidate[],
  wanted: Wanted,
): Promise<Neighbour[]> {
  const ids = candidates.filter(({ kind }) => kind === "message").map(({ id }) => id);
  if (ids.length === 0) return [];
  const side = (comparison: SQL, order: SQL, sign: SQL) => sql`
    lateral (select n.*, ${sign} * row_number() over (order by n.at ${order}, n.id ${order}) as step from (
      select * from ${assistantMessages} n where n.conversation_id = m.talk_id
        and (n.at, n.id) ${comparison} (m.said_at, m.near_id) order by n.at ${order}, n.id ${order} limit ${reach}) n) n`;
  const columns = messageColumns(wanted, "n");
  const rows = await db.execute<Row & Record<string, unknown> & { of: string; step: string }>(sql`
    with near as (select id as near_id, conversation_id as talk_id, at as said_at from ${assistantMessages} where id = any(${textArray(ids)}::uuid[]))
    select m.near_id as of, n.step, ${columns} from near m, ${side(sql`<`, sql`desc`, sql`-1`)} where n.is_recalled and ${where.messages}
    union all
    select m.near_id as of, n.step, ${columns} from near m, ${side(sql`>`, sql`asc`, sql`1`)} where n.is_recalled and ${where.messages}`);
  return rows.map((row) => ({ ...toCandidate(row), of: row.of, step: Number(row.step) }));
}

/** All candidates with their neighbours, which are candidates themselves: the answer may have no word of the question. */
function mergeNeighbours(found: readonly Candidate[], around: readonly Neighbour[]): Candidate[] {
  const byId = new Map<string, Candidate>(
    [...around, ...found].map((candidate) => [candidate.id, candidate]),
  );
  const links = new Map<string, Map<number, string>>();
  const link = (id: string, step: number, other: string) => {
    const known = links.get(id) ?? new Map<number, string>();
    links.set(id, known.set(step, other));
  };
  for (const { id, of, step } of around) {
    link(of, step, id);
    link(id, -step, of);
  }
  const side = (id: string, sign: 1 | -1) =>
    Array.from({ length: reach }, (_, at) => links.get(id)?.get(sign * (at + 1)) ?? "");
  return [...byId.values()].map((candidate) => ({
    ...candidate,
    before: side(candidate.id, -1),
    after: side(candidate.id, 1),
  }));
}

async function readTexts(
  { db, userId }: Reader,
  ranked: readonly { readonly candidate: Candidate; readonly score: number }[],
): Promise<RecallHit[]> {
  if (ranked.length === 0) return [];
  const ids = sql`any(${textArray(ranked.map(({ candidate }) => candidate.id))}::uuid[])`;
  const rows = await db.execute<{ id: string; text: string }>(sql`
    select id, text from ${assistantMessages} where owner_id = ${userId} and id = ${ids}
    union all select id, summary from ${memories} where owner_id = ${userId} and id = ${ids}`);
  const textById = new Map(rows.map(({ id, text }) => [id, text]));
  return ranked.flatMap(({ candidate: { kind, id, conversationId, from, to }, score }) => {
    const text = textById.get(id);
    return text === undefined ? [] : [{ kind, id, conversationId, text, from, to, score }];
  });
}
