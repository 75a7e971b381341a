import { type SQL, sql } from "drizzle-orm";
import { schema } from "../../db/index.ts";
import type { Services } from "../../services.ts";
import type { Candidate } from "./score.ts";
import { literal, type Term, textArray } from "./stems.ts";

const { assistantMessages, memories, recallVectors } = schema;

export interface Period {
  readonly from: Date | null;
  readonly to: Date | null;
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
export const candidateLimit = 2_000;
const reach = 3;

export interface Reader extends Pick<Services, "db"> {
  readonly userId: string;
  readonly where: { readonly messages: SQL; readonly memories: SQL };
}

export function whereOf(period: Period | null, tags: readonly string[]): Reader["where"] {
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

export interface Wanted {
  readonly terms: readonly Term[];
  readonly speakers: readonly string[];
}

/** SQL expression: which of the terms a row has, one bit each. */
function maskOf(terms: readonly Term[], column: SQL): SQL {
  if (terms.length === 0) return sql`0`;
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

/**
 * Messages and memories of the user within the conditions, which name few rows by an index of their own. The index of
 * owners is kept out: where the statistics are older than a user's rows, all of these would be read.
 */
async function readWhere(
  { db, userId, where }: Reader,
  { terms, speakers }: Wanted,
  condition: SQL,
): Promise<Candidate[]> {
  const rows = await db.execute<Row & Record<string, unknown>>(sql`
    (select ${messageColumns({ terms, speakers }, "m")} from ${assistantMessages} m
      where m.owner_id || '' = ${userId} and ${condition} and m.is_recalled and ${where.messages} limit ${literal(candidateLimit)})
    union all
    (select 'memory', m.id, m.conversation_id, m.period_start, m.period_end, ${maskOf(terms, sql`m.terms`)},
      cardinality(m.terms), false, false from ${memories} m
      where m.owner_id || '' = ${userId} and ${condition} and ${where.memories} limit ${literal(candidateLimit)})`);
  return rows.map(toCandidate);
}

/** Those that have one of the rare stems. */
export function readCandidates(
  reader: Reader,
  { rare, ...wanted }: Wanted & { readonly rare: readonly Term[] },
): Promise<Candidate[]> {
  return readWhere(reader, wanted, sql`m.terms && ${textArray(rare.map(({ key }) => key))}`);
}

/** Those whose vectors are still these: one that was deleted or changed has another vector, or none. */
export function readByVectors(
  reader: Reader,
  vectors: readonly { readonly id: string; readonly revision: number }[],
  wanted: Wanted,
): Promise<Candidate[]> {
  const ids = textArray(vectors.map(({ id }) => id));
  const revisions = textArray(vectors.map(({ revision }) => String(revision)));
  return readWhere(
    reader,
    wanted,
    sql`m.id in (select v.id from unnest(${ids}::uuid[], ${revisions}::bigint[]) known (id, revision)
      join ${recallVectors} v on v.id = known.id and v.revision = known.revision)`,
  );
}

interface Neighbour extends Candidate {
  /** The message that it is near to, and how many messages away: negative before it. */
  readonly of: string;
  readonly step: number;
}

/** Up to three messages before and after each, in the same conversation. */
export async function readNeighbours(
  { db, where }: Reader,
  candidates: readonly Candidate[],
  wanted: Wanted,
): Promise<Neighbour[]> {
  const ids = candidates.filter(({ kind }) => kind === "message").map(({ id }) => id);
  if (ids.length === 0) return [];
  const side = (comparison: SQL, order: SQL, sign: SQL) => sql`
    lateral (select n.*, ${sign} * row_number() over (order by n.at ${order}, n.id ${order}) as step from (
      select * from ${assistantMessages} n where n.conversation_id = m.talk_id
        and (n.at, n.id) ${comparison} (m.said_at, m.near_id) order by n.at ${order}, n.id ${order} limit ${literal(reach)}) n) n`;
  const columns = messageColumns(wanted, "n");
  const rows = await db.execute<Row & Record<string, unknown> & { of: string; step: string }>(sql`
    with near as (select id as near_id, conversation_id as talk_id, at as said_at from ${assistantMessages} where id = any(${textArray(ids)}::uuid[]))
    select m.near_id as of, n.step, ${columns} from near m, ${side(sql`<`, sql`desc`, sql`-1`)} where n.is_recalled and ${where.messages}
    union all
    select m.near_id as of, n.step, ${columns} from near m, ${side(sql`>`, sql`asc`, sql`1`)} where n.is_recalled and ${where.messages}`);
  return rows.map((row) => ({ ...toCandidate(row), of: row.of, step: Number(row.step) }));
}

/** All candidates with their neighbours, which are candidates themselves: the answer may have no word of the question. */
export function mergeNeighbours(found: readonly Candidate[], around: readonly Neighbour[]): Candidate[] {
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
  const side = (id: string, sign: 1 | -1) => {
    const known = links.get(id);
    return known ? Array.from({ length: reach }, (_, at) => known.get(sign * (at + 1)) ?? "") : [];
  };
  return [...byId.values()].map((candidate) => ({
    ...candidate,
    before: side(candidate.id, -1),
    after: side(candidate.id, 1),
  }));
}

export async function readTexts(
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
