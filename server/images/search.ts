import { and, eq, gt, gte, inArray, isNull, lte, ne, sql, type SQL } from "drizzle-orm";
import { type Db, schema } from "../db/index.ts";
import type { JobKind } from "../engines.ts";
import { hasTextModel } from "../meaning/index.ts";
import type { Services } from "../services.ts";
import { type Conditions, contains, termCondition } from "./conditions.ts";
import { findNear } from "./near.ts";
import { beyondPlace, orderBy, type Place, standing } from "./place.ts";
import { goneAt } from "./quota.ts";
import { type ListOrder, parseSearch, type SearchTerm } from "./query.ts";
import { fillSearchTexts, textForm } from "./search-text.ts";
import { findSome } from "./some.ts";

const { images, jobs } = schema;

/** How many of the newest pictures are looked at one by one before an index is asked. */
const walked = 2_000;

interface PageQuery {
  readonly ownerId: string;
  /** What is asked of each picture beside its owner. */
  readonly conditions: Conditions;
  /** Asked last, of few pictures; may name owner, stack, time and id. */
  readonly shown?: SQL | undefined;
  /** Only what lies beyond it. */
  readonly place?: Place | undefined;
  readonly isTrash?: boolean;
  readonly order?: ListOrder | undefined;
  readonly limit: number;
}

export const newestFirst = orderBy("made", "older");

/** A picture of a page, and what `encodeCursor` takes to go on from it. */
export interface Found extends Record<string, unknown> {
  readonly id: string;
  readonly standing: string;
}

/**
 * Pictures for which all conditions hold, the nearest to the place first: newest first, without a place.
 *
 * What many pictures have is found soonest among the newest, one by one; what few have is found soonest by an index, and then
 * sorted. PostgreSQL knows too little of parts of texts to choose, so the first is tried, and then the second.
 */
export async function findIds(db: Db, query: PageQuery): Promise<Found[]> {
  const { ownerId, conditions, shown = sql`true`, place, isTrash = false, limit } = query;
  const by = query.order ?? "made";
  const order = orderBy(by, place?.side ?? "older");
  const beyond = place && beyondPlace(place, by);
  const isThere = isTrash ? gt(images.deletedAt, goneAt) : isNull(images.deletedAt);
  const own = and(eq(images.ownerId, ownerId), isThere, beyond);
  const wanted = conditions(images);
  const near = await db.execute<Found>(sql`
    select id, ${standing} as standing from (select * from ${images} where ${own} ${order} limit ${walked}) as images
    where ${and(...wanted, shown)} ${order} limit ${limit}`);
  if (near.length === limit) return near;
  // Sorted before \`shown\` is asked, which so is asked only until the page is full.
  return db.execute<Found>(sql`
    with hits as materialized (
      select ${images.id}, ${images.ownerId}, ${images.stackId}, ${images.createdAt}, ${images.rating}, ${images.sizeBytes} from ${images} where ${and(own, ...wanted)})
    select id, ${standing} as standing from (select * from hits as images ${order} offset 0) as images where ${shown} ${order} limit ${limit}`);
}

/** Those of some pictures for which all conditions hold, in the order of the ids, or back from a place in it. */
export async function findAmong(db: Db, ids: readonly string[], query: PageQuery): Promise<string[]> {
  const { ownerId, conditions, shown = sql`true`, place, isTrash = false, limit } = query;
  const left = idsBeyond(ids, place);
  if (left.length === 0) return [];
  const isThere = isTrash ? gt(images.deletedAt, goneAt) : isNull(images.deletedAt);
  const own = and(eq(images.ownerId, ownerId), isThere, inArray(images.id, [...left]));
  const rows = await db
    .select({ id: images.id })
    .from(images)
    .where(and(own, ...conditions(images), shown));
  return inOrderOf(left, rows)
    .slice(0, limit)
    .map(({ id }) => id);
}

/** The nearest to the place first. None when its picture is no longer among them: to begin again would show all of them twice. */
function idsBeyond(ids: readonly string[], place: Place | undefined): readonly string[] {
  if (!place || place.at instanceof Date) return ids;
  const at = ids.indexOf(place.at.id);
  if (at === -1) return [];
  return place.side === "newer" ? ids.slice(0, at).toReversed() : ids.slice(at + 1);
}

export interface SearchInput {
  readonly ownerId: string;
  /** Words and filters, in the language of \`parseSearch\`; without one the newest pictures are found. */
  readonly words: readonly string[];
  /** Of the days that the words name, by its IANA name; UTC by default. */
  readonly timezone?: string | undefined;
  readonly from?: Date | null | undefined;
  readonly to?: Date | null | undefined;
  readonly limit: number;
}

/** A picture with the words that it was found by. */
export interface FoundImage {
  readonly id: string;
  readonly title: string;
  readonly role: "upload" | "result";
  readonly kind: JobKind | null;
  readonly prompt: string | null;
  readonly jobId: string | null;
  readonly createdAt: Date;
}

/**
 * An owner's pictures that have all words, newest first (without words and days those added last), then those that have some, most of them first, and then, with a
 * text model, those that mean the like. What filters say holds for all of them; an operator with a value that it does not take is a word.
 */
export async function searchImages(
  services: Pick<Services, "config" | "db" | "env">,
  input: SearchInput,
): Promise<FoundImage[]> {
  const { db } = services;
  const { ownerId, from, to, limit } = input;
  await fillSearchTexts(db, ownerId);
  const parts = partsOf(input);
  const filters: Conditions = (searched) =>
    [
      ne(searched.role, "mask"),
      from && gte(searched.createdAt, from),
      to && lte(searched.createdAt, to),
      ...parts.filters.map((term) => termCondition(term, { searched, ownerId })),
    ].filter((condition) => typeof condition === "object" && condition !== null);
  const conditions: Conditions = (searched) => [
    ...filters(searched),
    ...parts.words.map((word) => contains(searched, word)),
  ];
  // Who names nothing means what came last.
  const order = input.words.length > 0 || from || to ? "made" : "added";
  const ids = (await findIds(db, { ownerId, conditions, order, limit })).map(({ id }) => id);
  if (ids.length < limit && parts.words.length > 1) {
    const some = await findSome(db, { ownerId, filters, words: parts.words, limit });
    ids.push(...some.filter((id) => !ids.includes(id)));
  }
  if (ids.length < limit && parts.words.length > 0 && hasTextModel(services.env)) {
    const near = await findNear(services, ownerId, { text: input.words.join(" ") });
    const found = await findAmong(db, near, { ownerId, conditions: filters, limit });
    ids.push(...found.filter((id) => !ids.includes(id)));
  }
  return readFound(db, ids.slice(0, limit));
}

/** The words and the filters of what an assistant looks for. */
function partsOf({ words: texts, timezone }: Pick<SearchInput, "timezone" | "words">) {
  const terms = texts.flatMap((text) => parseSearch(text, timezone));
  // What must not be there is a filter, too.
  const isFilter = ({ meaning, isNot }: SearchTerm) => "name" in meaning || (isNot && "words" in meaning);
  const words = terms.filter((term) => !isFilter(term)).flatMap(({ source }) => textForm(source).split(" "));
  const distinct = [...new Set(words)].filter((word) => word !== "").slice(0, maxWords);
  return { words: distinct, filters: terms.filter(isFilter) };
}

const maxWords = 12;

/** Facts of pictures, in the order of the ids. */
async function readFound(db: Db, ids: readonly string[]): Promise<FoundImage[]> {
  if (ids.length === 0) return [];
  const { id, title, role, jobId, createdAt } = images;
  const prompt = sql<string | null>`${jobs.params} ->> 'prompt'`;
  const rows = await db
    .select({ id, title, role, kind: jobs.kind, prompt, jobId, createdAt })
    .from(images)
    .leftJoin(jobs, eq(jobs.id, images.jobId))
    .where(inArray(images.id, [...ids]));
  return inOrderOf(ids, rows).map((row) => ({ ...row, role: row.role === "upload" ? "upload" : "result" }));
}

/** Rows in the order of their ids. */
export function inOrderOf<Row extends { readonly id: string }>(
  ids: readonly string[],
  rows: readonly Row[],
): Row[] {
  const rowOf = new Map(rows.map((row) => [row.id, row]));
  return ids.map((id) => rowOf.get(id)).filter((row) => row !== undefined);
}
