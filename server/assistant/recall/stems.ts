import { keptBy } from "../../platform/index.ts";
import { sql, type SQL } from "drizzle-orm";
import { schema } from "../../db/index.ts";
import type { Services } from "../../services.ts";
import type { Corpus, QueryTerm } from "./score.ts";

const { assistantMessages, memories } = schema;

interface Owned extends Pick<Services, "db"> {
  readonly userId: string;
}

/** A stem of the query as it is stored, behind a hash of the owner. */
export interface Term extends QueryTerm {
  readonly key: string;
}

/** Stems of a query that count; a mask of them has to fit into 31 bits. */
const maxTerms = 24;
/** Rows that are counted for a stem; one that has more is common. */
const countLimit = 1_000;

/** A number within the statement: of a parameter the planner takes a tenth of all rows for the limit. */
export const literal = (value: number) => sql.raw(String(value));

export const textArray = (texts: readonly string[]) =>
  sql`array[${sql.join(
    texts.map((text) => sql`${text}`),
    sql`, `,
  )}]::text[]`;

interface Talks extends Corpus {
  /** Names of those who speak in the user's talks, in lower case. */
  readonly speakers: readonly string[];
}

interface KnownCorpus {
  readonly corpus: Talks;
  readonly readAtMs: number;
  /** Rows of stems that many rows have: counting these takes most of the time of a recall. */
  readonly commonStems: Map<string, number>;
}

/** Sizes change slowly, and the ranking needs them roughly. */
const corpusMs = 60_000;
const maxCorpora = 1_000;
const corporaOf = keptBy((_db: Owned["db"]) => new Map<string, KnownCorpus>());
const sampledRows = 2_000;
/** A larger log counts as one of this size, since counting takes time and the ranking changes little. */
const maxDocuments = 20_000;
const maxSpeakers = 200;

/** The sizes that the ranking needs, and who speaks. */
export async function readCorpus({ db, userId }: Owned): Promise<Talks> {
  const known = corporaOf(db);
  const last = known.get(userId);
  // What a small memory gains changes its sizes at once.
  if (last && last.corpus.documents > countLimit && performance.now() - last.readAtMs < corpusMs)
    return last.corpus;
  const [row] = await db.execute<Record<keyof Corpus, number> & { speakers: string[] }>(sql`
    select (select count(*) from (select from ${assistantMessages} where owner_id = ${userId} limit ${literal(maxDocuments)}) logged)::int
        + (select count(*) from ${memories} where owner_id = ${userId})::int as documents,
      (select count(*) from assistant_conversations where owner_id = ${userId})::int as conversations,
      coalesce((select avg(cardinality(terms)) from (
        select terms from ${assistantMessages} where owner_id = ${userId} order by at desc limit ${literal(sampledRows)}
      ) newest), 10)::float8 as "meanLength",
      array(select distinct lower(speaker) from (
        select speaker from ${assistantMessages} where owner_id = ${userId} limit ${literal(maxDocuments)}
      ) logged where speaker is not null limit ${literal(maxSpeakers)}) as speakers`);
  const corpus = {
    documents: 0,
    conversations: 0,
    speakers: [],
    ...row,
    meanLength: Math.max(1, row?.meanLength ?? 10),
  };
  if (known.size >= maxCorpora) known.clear();
  known.set(userId, { corpus, readAtMs: performance.now(), commonStems: new Map() });
  return corpus;
}

/** A stem that fewer rows have is counted each time. */
const commonFrom = 200;
const maxCommonStems = 500;

/** The counts of common stems, as long as the sizes of the memory are not read anew. */
function commonStemsOf({ db, userId }: Owned): Map<string, number> {
  const stems = corporaOf(db).get(userId)?.commonStems ?? new Map<string, number>();
  if (stems.size > maxCommonStems) stems.clear();
  return stems;
}

/** The stems of a query with the number of rows that have them, which is estimated above the limit of the count. */
export async function readTerms(reader: Owned, query: string): Promise<Term[]> {
  const { db, userId } = reader;
  const common = commonStemsOf(reader);
  const stems = await db.execute<{ key: string }>(
    sql`select unnest(recall_terms(${userId}, ${query})) as key limit ${literal(maxTerms)}`,
  );
  const keys = stems.map(({ key }) => key);
  const countIn = (table: SQL) =>
    sql`(select count(*)::int from (select from ${table} where terms @> array[key] limit ${literal(countLimit)}) rows)`;
  const uncounted = keys.filter((key) => !common.has(key));
  const counted = await db.execute<{ key: string; documents: number }>(sql`
    select key, ${countIn(sql`${assistantMessages}`)} + ${countIn(sql`${memories}`)} as documents
    from unnest(${textArray(uncounted)}) key`);
  for (const { key, documents } of counted) if (documents >= commonFrom) common.set(key, documents);
  const countOf = new Map(counted.map(({ key, documents }) => [key, documents]));
  return keys
    .map((key) => ({ key, documents: common.get(key) ?? countOf.get(key) ?? 0 }))
    .filter(({ documents }) => documents > 0)
    .map(({ key, documents }) => ({
      key,
      weight: 1,
      documents: documents >= countLimit ? documents * commonFactor : documents,
    }));
}

/** A stem that reached the limit is taken to be in so many times the rows that were counted. */
const commonFactor = 4;
