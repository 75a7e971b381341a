import { and, eq, inArray, isNull, sql } from "drizzle-orm";
import { z } from "zod";
import { type Db, schema, type Tx } from "../db/index.ts";
import { decodeCursor, encodeCursor, type ImageView, toImageView, viewColumns } from "../images/index.ts";
import { oneAtATime } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { comparePictures, countWaiting } from "./find.ts";

const { boardImages, boards, duplicatePairs, images, jobs } = schema;

/** One picture of a group, with what tells it from the others. */
interface Duplicate extends ImageView {
  /** The names of its owner's boards that it is on, by the alphabet. */
  readonly boards: readonly string[];
}

/** Why a picture is proposed: of most pixels; its file is larger; it is older; it has more boards, tags and stars. */
export const keepReasons = ["pixels", "bytes", "oldest", "organised"] as const;
type KeepReason = (typeof keepReasons)[number];

/** Pictures of one owner that look the same. */
export interface DuplicateGroup {
  /** The newest of its pictures. */
  readonly id: string;
  /** The proposed one first, then the oldest. */
  readonly pictures: readonly Duplicate[];
  /** The picture that is proposed to be kept. */
  readonly keepId: string;
  readonly reason: KeepReason;
}

export interface DuplicatePage {
  /** Those of the newest pictures first. */
  readonly groups: readonly DuplicateGroup[];
  readonly nextCursor: string | null;
  /** Of all pages. */
  readonly total: { readonly groups: number; readonly pictures: number };
  /** Pictures that are not compared yet. */
  readonly waiting: number;
}

export const listDuplicatesSchema = z.strictObject({
  cursor: z.string().max(100).meta({ format: "cursor" }).optional(),
  limit: z.int().min(1).max(50).default(20),
});

interface ListInput {
  readonly ownerId: string;
  readonly cursor?: string | undefined;
  readonly limit?: number | undefined;
}

/** New uploads are compared while their owner waits, so that they are in the list. */
const comparedFirst = 25;

/** The groups of an owner's pictures that look the same, page by page. Throws `bad_request` for a wrong cursor. */
export async function listDuplicates(
  services: Pick<Services, "db" | "disk" | "log">,
  { ownerId, cursor, limit = 20 }: ListInput,
): Promise<DuplicatePage> {
  const { db } = services;
  const after = cursor === undefined ? null : decodeCursor(cursor).id;
  // The later of two requests finds them compared: many at once would each compare the same, and this process answered nobody else.
  if (after === null)
    await oneAtATime(`duplicates of ${ownerId}`, () =>
      comparePictures(services, { ownerId, most: comparedFirst }),
    );
  const all = await readIds(db, ownerId);
  const rest = after === null ? all : all.filter(([id = ""]) => id < after);
  const shown = rest.slice(0, limit);
  const groups = await readGroups(db, shown);
  return {
    groups,
    nextCursor: rest.length > limit ? encodeCursor(shown.at(-1)?.[0] ?? "") : null,
    total: { groups: all.length, pictures: all.reduce((sum, ids) => sum + ids.length, 0) },
    waiting: await countWaiting(services, ownerId),
  };
}

/** Pairs that are read; further groups follow once these are merged. */
const mostPairs = 20_000;
/** Pictures of a group that are shown. */
const mostOfGroup = 50;

interface Pair extends Record<string, unknown> {
  readonly one: string;
  readonly other: string;
}

/** The ids of each group, the newest first, and the groups by their newest picture. */
export async function readIds(db: Db, ownerId: string): Promise<string[][]> {
  const pairs = await db.execute<Pair>(sql`
    select p.image_id as one, p.twin_id as other from ${duplicatePairs} p
    join ${images} i on i.id = p.image_id and i.owner_id = ${ownerId} and i.deleted_at is null
    join ${images} t on t.id = p.twin_id and t.owner_id = ${ownerId} and t.deleted_at is null
    where p.owner_id = ${ownerId} and p.dismissed_at is null order by p.image_id, p.twin_id limit ${mostPairs}`);
  const paired = new Set(pairs.flatMap(({ one, other }) => [one, other]));
  const isPaired = sql`any(${sql.param([...paired])}::uuid[])`;
  // Of all that were ever dismissed, those that could come into one group.
  const dismissed = await db.execute<Pair>(sql`
    select image_id as one, twin_id as other from ${duplicatePairs}
    where owner_id = ${ownerId} and dismissed_at is not null and image_id = ${isPaired} and twin_id = ${isPaired}`);
  const both = dismissed.flatMap(({ one, other }) => [
    { one, other },
    { one: other, other: one },
  ]);
  const apart = Map.groupBy(both, ({ one }) => one);
  const groups = new Map<string, Set<string>>();
  for (const pair of pairs) join(groups, pair, apart);
  return [...new Set(groups.values())]
    .map((ids) => [...ids].toSorted().toReversed().slice(0, mostOfGroup))
    .toSorted(([a = ""], [b = ""]) => (a < b ? 1 : -1));
}

/** Not when two would come into one group that are no duplicates: each is like a third one. */
function join(
  groups: Map<string, Set<string>>,
  { one, other }: Pair,
  apart: ReadonlyMap<string, readonly Pair[]>,
): void {
  const [a, b] = [groups.get(one) ?? new Set([one]), groups.get(other) ?? new Set([other])];
  const [large, small] = a.size < b.size ? [b, a] : [a, b];
  if (large === small) return;
  // A series may have thousands of pictures and many more pairs: what is few is gone through, and each picture moves a few times.
  const kept = apart.size < small.size ? apart.keys().filter((id) => small.has(id)) : small;
  for (const id of kept) if (apart.get(id)?.some((pair) => large.has(pair.other))) return;
  for (const id of [one, other, ...small]) {
    large.add(id);
    groups.set(id, large);
  }
}

/** The groups as they are shown; one of which less than two pictures are left is left out. */
export async function readGroups(
  db: Db | Tx,
  groups: readonly (readonly string[])[],
): Promise<DuplicateGroup[]> {
  const ids = groups.flat();
  if (ids.length === 0) return [];
  const rows = await db
    .select({
      ...viewColumns,
      boards: sql<
        string[]
      >`array(select ${boards.name} from ${boardImages} join ${boards} on ${boards.id} = ${boardImages.boardId}
        where ${boardImages.imageId} = ${images.id} and ${boards.ownerId} = ${images.ownerId} and ${boards.removedAt} is null
        order by ${boards.key})`,
    })
    .from(images)
    .leftJoin(jobs, eq(jobs.id, images.jobId))
    .where(and(inArray(images.id, ids), isNull(images.deletedAt)));
  const byId = new Map(rows.map((row) => [row.image.id, { ...toImageView(row), boards: row.boards }]));
  return groups.flatMap(([id = "", ...others]) => {
    const pictures = [id, ...others].flatMap((each) => byId.get(each) ?? []);
    return pictures.length < 2 ? [] : [{ id, ...propose(pictures) }];
  });
}

/** Files of the same picture that differ by less are as good as each other. */
const sameSize = 0.05;

/** What is compared, in this order: the first that decides is the reason. Positive: `a` is to be kept. */
const rules: Readonly<Record<KeepReason, (a: Duplicate, b: Duplicate) => number>> = {
  pixels: (a, b) => a.widthPx * a.heightPx - b.widthPx * b.heightPx,
  bytes: (a, b) =>
    Math.abs(a.sizeBytes - b.sizeBytes) <= sameSize * Math.max(a.sizeBytes, b.sizeBytes)
      ? 0
      : a.sizeBytes - b.sizeBytes,
  oldest: (a, b) => Date.parse(b.createdAt) - Date.parse(a.createdAt),
  organised: (a, b) => orderOf(a) - orderOf(b) || (a.id < b.id ? 1 : -1),
};

const orderOf = ({ boards: on, tags, rating, starred }: Duplicate) =>
  on.length + tags.length + Number(rating > 0) + Number(starred);

function decide(a: Duplicate, b: Duplicate): { readonly kept: Duplicate; readonly reason: KeepReason } {
  for (const reason of keepReasons) {
    const found = rules[reason](a, b);
    if (found !== 0) return { kept: found > 0 ? a : b, reason };
  }
  return { kept: a, reason: "organised" };
}

function propose(pictures: readonly Duplicate[]): Omit<DuplicateGroup, "id"> {
  const kept = pictures.reduce((best, picture) => decide(best, picture).kept);
  const others = pictures
    .filter(({ id }) => id !== kept.id)
    .toSorted((a, b) => Date.parse(a.createdAt) - Date.parse(b.createdAt));
  // Against the closest of the others: that is what was decided.
  const reasons = others.map((other) => decide(kept, other).reason);
  const reason = keepReasons.findLast((each) => reasons.includes(each)) ?? "oldest";
  return { keepId: kept.id, reason, pictures: [kept, ...others] };
}
