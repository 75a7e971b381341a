import { and, eq, isNull, or, sql, type SQL } from "drizzle-orm";
import { type Db, schema } from "../db/index.ts";
import { type Conditions, contains } from "./conditions.ts";
import { searchKey } from "./search-text.ts";

const { images } = schema;

interface SomeQuery {
  readonly ownerId: string;
  readonly filters: Conditions;
  /** At least two, in the form of `textForm`, each once. */
  readonly words: readonly string[];
  readonly limit: number;
  /** How many of the newest pictures are counted before an index is asked; 2,000 by default. */
  readonly walked?: number;
}

/**
 * Ids of pictures that have some of the words but not all, most of them first, newest first among equals.
 *
 * The newest pictures are counted first. When they fill the page and the last of them has `n` words, only pictures with more
 * than `n` can stand before it: an index is asked for those, unless `n` is all words but one.
 */
export async function findSome(db: Db, query: SomeQuery): Promise<string[]> {
  const { words, limit } = query;
  const { found, shares, isAll } = await countNewest(db, query);
  if (isAll) return found.map(({ id }) => id);
  const last = found.length < limit ? 0 : (found.at(-1)?.words ?? 0);
  const ofLast = found.filter((picture) => picture.words === last).map(({ id }) => id);
  if (last === words.length - 1) return ofLast;
  const before = await findWithAtLeast(db, query, rarestParts(shares, last + 1), last + 1);
  // What got another word between the two looks is in both.
  return [...new Set([...before, ...ofLast])].slice(0, limit);
}

/** A part is found faster so than by `like`, which the index needs. */
const isIn = (word: string): SQL => sql`(strpos(${images.searchKey}, ${searchKey(word)}) > 0)::int`;

const isOwn = (ownerId: string): SQL | undefined =>
  and(eq(images.ownerId, ownerId), isNull(images.deletedAt));

/** A word, and how many of the pictures that were looked at have it, of 1. */
interface Share {
  readonly word: string;
  readonly share: number;
}

interface Newest {
  readonly found: readonly { readonly id: string; readonly words: number }[];
  readonly shares: readonly Share[];
  /** The owner has no others. */
  readonly isAll: boolean;
}

async function countNewest(db: Db, query: SomeQuery): Promise<Newest> {
  const { ownerId, filters, words, limit, walked = 2_000 } = query;
  const hitOf = words.map((_, at) => sql.raw(`hits[${at + 1}]`));
  const order = sql`order by words desc, created_at desc, id desc`;
  const newest = (columns: SQL) =>
    sql`(select ${columns} from ${images} where ${isOwn(ownerId)} order by created_at desc, id desc limit ${walked}) as images`;
  const [row] = await db.execute<{ shares: (number | null)[]; found: Newest["found"]; seen: number }>(sql`
    with hit as materialized (
      select id, created_at, hits, ${sql.join(hitOf, sql` + `)} as words from (
        select id, created_at, array[${sql.join(words.map(isIn), sql`, `)}] as hits from ${newest(sql`*`)}
        where ${and(...filters(images))} offset 0) as looked)
    select (select count(*) from ${newest(sql`id`)})::int as seen,
      (select array[${sql.join(
        hitOf.map((hit) => sql`avg(${hit})`),
        sql`, `,
      )}]::float8[] from hit) as shares, (
      select coalesce(jsonb_agg(jsonb_build_object('id', id, 'words', words) ${order}), '[]')
      from (select * from hit where words between 1 and ${words.length - 1} ${order} limit ${limit}) as newest) as found`);
  const shares = words.map((word, at) => ({ word, share: row?.shares[at] ?? 0 }));
  return { found: row?.found ?? [], shares, isAll: (row?.seen ?? 0) < walked };
}

/** Pictures that have at least this many of the words, but not all; `parts`: each of them has all words of one. */
async function findWithAtLeast(
  db: Db,
  { ownerId, filters, words, limit }: SomeQuery,
  parts: readonly (readonly string[])[],
  least: number,
): Promise<string[]> {
  const hasPart = or(...parts.map((part) => and(...part.map((word) => contains(images, word)))));
  // Counted in a query of its own: else each picture would be counted for the condition, and again for the order.
  const rows = await db.execute<{ id: string }>(sql`
    select id from (
      select id, created_at, ${sql.join(words.map(isIn), sql` + `)} as words from ${images}
      where ${and(isOwn(ownerId), ...filters(images), hasPart)} offset 0) as hit
    where words between ${least} and ${words.length - 1} order by words desc, created_at desc, id desc limit ${limit}`);
  return rows.map(({ id }) => id);
}

/**
 * Sets of words, of which a picture with at least `least` of all words has one whole: of any `words - least + n` words it has
 * `n`. The rarest are taken, and the `n` for which looking into the index and reading what it finds cost least.
 */
function rarestParts(shares: readonly Share[], least: number): string[][] {
  const byShare = shares.toSorted((one, other) => one.share - other.share);
  const choices = Array.from({ length: least }, (_, at) =>
    setsOf(byShare.slice(0, shares.length - least + at + 1), at + 1),
  );
  const [best = []] = choices.toSorted((one, other) => costOf(one) - costOf(other));
  return best.map((set) => set.map(({ word }) => word));
}

/** All sets of so many items. */
function setsOf<Item>(items: readonly Item[], size: number): Item[][] {
  if (size === 0) return [[]];
  return items.flatMap((item, at) => setsOf(items.slice(at + 1), size - 1).map((set) => [item, ...set]));
}

/** In units of reading all pictures of the owner. What the index finds is looked at again, set by set. */
function costOf(sets: readonly (readonly Share[])[]): number {
  const read = sets.map((set) => set.reduce((product, { share }) => product * share, 1));
  const readOnce = read.reduce((sum, share) => sum + share, 0);
  return readOnce * (1 + sets.length / 10) + sets.length * lookCost;
}

/** Measured at 250,000 pictures: a look into the index costs as much as reading 1,700 of them. */
const lookCost = 0.007;
