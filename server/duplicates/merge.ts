import { and, eq, inArray, isNull, or, sql } from "drizzle-orm";
import { z } from "zod";
import { isSharedWith } from "../boards/index.ts";
import { schema, type Tx } from "../db/index.ts";
import { tagLimits } from "../images/index.ts";
import { AppError, isId } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { readGroups, readIds } from "./groups.ts";

const { boardImages, boards, duplicatePairs, images, imageTags, linkImages, wardrobeItems } = schema;

const mostOfGroup = 100;
const mostLinks = 200;
const ids = z.array(z.uuid());

export const mergeSchema = z.strictObject({
  keepId: z.uuid(),
  removeIds: ids.min(1).max(mostOfGroup),
});

const marks = z.strictObject({
  rating: z.int().min(0).max(5),
  starred: z.boolean(),
  title: z.string().max(1_000),
  /** Merges that a page of the version before noted have none. */
  description: z.string().max(10_000).optional(),
  describedBy: z.enum(["file", "model", "owner"]).nullish(),
  /** As `description`; null: not chosen as the top of its stack. */
  toppedAt: z.iso.datetime().nullish(),
});

/** What a merge did, from which `undoMerge` takes it back. */
export const undoMergeSchema = z.strictObject({
  keepId: z.uuid(),
  removedIds: ids.max(mostOfGroup),
  /** Of the picture that was kept. */
  before: marks,
  after: marks,
  /** Those that the kept picture did not have. */
  tagIds: ids.max(1_000),
  boardIds: ids.max(1_000),
  /** Places that showed a picture that went, and show the kept one since. */
  places: z
    .array(
      z.strictObject({
        of: z.enum(["wardrobe", "link"]),
        id: z.uuid(),
        position: z.int32().min(0),
        imageId: z.uuid(),
      }),
    )
    .max(mostLinks + 1),
});

export type Merge = z.output<typeof undoMergeSchema>;

interface MergeInput extends z.output<typeof mergeSchema> {
  readonly ownerId: string;
}

/**
 * Keeps one of the owner's pictures and moves others to the trash; boards, tags, rating, star, a title, a description, the top of their stack, its places in the wardrobe
 * and in links go to the kept one. Returns what `undoMerge` takes back. Throws `not_found` without the kept one, and when none of
 * the others is there.
 */
export function mergeDuplicates({ db }: Pick<Services, "db">, input: MergeInput): Promise<Merge> {
  return db.transaction((tx) => mergeIn(tx, input));
}

async function mergeIn(tx: Tx, { ownerId, keepId, removeIds }: MergeInput): Promise<Merge> {
  const rows = await tx
    .select()
    .from(images)
    .where(
      and(inArray(images.id, [keepId, ...removeIds]), eq(images.ownerId, ownerId), isNull(images.deletedAt)),
    )
    .orderBy(images.id)
    // Not "update": what is put on a board meanwhile holds the board that is locked below, and asks only for the picture's key.
    .for("no key update");
  const kept = rows.find(({ id }) => id === keepId);
  const removed = rows.filter(({ id, role }) => id !== keepId && role !== "mask");
  if (!kept || kept.role === "mask" || removed.length === 0) throw new AppError("not_found");
  const removedIds = removed.map(({ id }) => id);
  const { rating, starred, title, description, describedBy } = kept;
  const before = { rating, starred, title, description, describedBy, ...topOf(kept) };
  // What the owner emptied stays empty.
  const described =
    describedBy === "owner" ? kept : ([kept, ...removed].find((row) => row.description !== "") ?? kept);
  const after = {
    rating: Math.max(...rows.map(({ rating }) => rating)),
    starred: rows.some(({ starred }) => starred),
    title: kept.title || (removed.find(({ title }) => title !== "")?.title ?? ""),
    description: described.description,
    describedBy: described.describedBy,
    ...topOf(rows.filter((row) => stackIdOf(row) === stackIdOf(kept)).reduce(lastChosen, kept)),
  };
  const moved = { ownerId, keepId, removedIds };
  const [tagIds, boardIds, places] = [
    await addTags(tx, moved),
    await addBoards(tx, moved),
    await movePlaces(tx, moved),
  ];
  const toppedAt = after.toppedAt === null ? null : new Date(after.toppedAt);
  await tx
    .update(images)
    .set({ ...after, toppedAt })
    .where(eq(images.id, keepId));
  await tx
    .update(images)
    .set({ deletedAt: sql`now()` })
    .where(inArray(images.id, removedIds));
  return { keepId, removedIds, before, after, tagIds, boardIds, places };
}

type Row = typeof images.$inferSelect;
const stackIdOf = ({ stackId, id }: Row) => stackId ?? id;

const lastChosen = (one: Row, other: Row) => (Number(other.toppedAt) > Number(one.toppedAt) ? other : one);

export const topOf = ({ toppedAt }: Row) => ({
  toppedAt: toppedAt?.toISOString() ?? null,
});

interface Moved {
  readonly ownerId: string;
  readonly keepId: string;
  readonly removedIds: readonly string[];
}

/** As many as a picture can have. */
async function addTags(tx: Tx, { keepId, removedIds }: Moved): Promise<string[]> {
  const had = tx.select({ id: imageTags.tagId }).from(imageTags).where(eq(imageTags.imageId, keepId));
  const added = await tx.execute<{ id: string }>(sql`
    insert into ${imageTags} (tag_id, image_id)
    select distinct tag_id, ${keepId}::uuid from ${imageTags}
    where ${inArray(imageTags.imageId, [...removedIds])} and tag_id not in ${had}
    order by tag_id limit greatest(0, ${tagLimits.perPicture} - (select count(*) from ${had} as had))
    on conflict do nothing returning tag_id as id`);
  return added.map(({ id }) => id);
}

/** Also boards of others on which the owner has put one of them, and may still put pictures. */
async function addBoards(tx: Tx, { ownerId, keepId, removedIds }: Moved): Promise<string[]> {
  const isOfRemoved = inArray(boardImages.imageId, [...removedIds]);
  const on = tx.select({ id: boardImages.boardId }).from(boardImages).where(isOfRemoved);
  // As `addToBoard`: a sharing that ends comes before, or takes the kept picture off as well.
  const locked = await tx
    .select({ id: boards.id })
    .from(boards)
    .where(inArray(boards.id, on))
    .orderBy(boards.id)
    .for("update");
  const ids = locked.map(({ id }) => id);
  const mayAdd = tx
    .select({ id: boards.id })
    .from(boards)
    .where(and(inArray(boards.id, ids), or(eq(boards.ownerId, ownerId), isSharedWith(ownerId, "add"))));
  const added = await tx.execute<{ id: string }>(sql`
    insert into ${boardImages} (board_id, image_id, added_at)
    select board_id, ${keepId}::uuid, min(added_at) from ${boardImages}
    where ${isOfRemoved} and board_id in ${mayAdd} group by board_id
    on conflict do nothing returning board_id as id`);
  return added.map(({ id }) => id);
}

/** A wardrobe has a picture once, so the oldest item moves, and only to a picture that has none: one that was taken out is none. */
async function movePlaces(tx: Tx, { keepId, removedIds }: Moved): Promise<Merge["places"]> {
  await tx.execute(sql`
    delete from ${wardrobeItems} where image_id = ${keepId} and removed_at is not null
      and exists (select from ${wardrobeItems} other where ${inArray(sql`other.image_id`, [...removedIds])} and other.removed_at is null)`);
  const items = await tx.execute<{ id: string; imageId: string }>(sql`
    with first as (
      select id, image_id from ${wardrobeItems} where ${inArray(wardrobeItems.imageId, [...removedIds])} and removed_at is null
        and not exists (select from ${wardrobeItems} own where own.image_id = ${keepId})
      order by created_at, id limit 1 for update)
    update ${wardrobeItems} set image_id = ${keepId} from first where ${wardrobeItems.id} = first.id
    returning first.id, first.image_id as "imageId"`);
  const shown = await tx.execute<{ id: string; imageId: string; position: number }>(sql`
    with first as (
      select distinct on (link_id) link_id, position, image_id from ${linkImages} l
      where ${inArray(sql`l.image_id`, [...removedIds])}
        and not exists (select from ${linkImages} own where own.link_id = l.link_id and own.image_id = ${keepId})
      order by link_id desc, position limit ${mostLinks})
    update ${linkImages} set image_id = ${keepId} from first
    where ${linkImages.linkId} = first.link_id and ${linkImages.position} = first.position
    returning first.link_id as id, first.position, first.image_id as "imageId"`);
  return [
    ...items.map(({ id, imageId }) => ({ of: "wardrobe" as const, id, position: 0, imageId })),
    ...shown.map(({ id, position, imageId }) => ({ of: "link" as const, id, position, imageId })),
  ];
}

const groupsAtOnce = 50;

export const mergeAllSchema = z.strictObject({
  /** Kept in place of what is proposed for their groups. */
  keepIds: ids.max(1_000).default([]),
});

/**
 * Merges all groups of an owner, some at a time: `left` says how many were not tried yet. Each keeps what is proposed for it, or
 * the one of `keepIds` that is in it. A group that cannot be merged stays, and stops no other.
 */
export async function mergeAllDuplicates(
  services: Pick<Services, "db" | "log">,
  { ownerId, keepIds }: z.output<typeof mergeAllSchema> & { readonly ownerId: string },
): Promise<{ readonly merges: Merge[]; readonly left: number }> {
  const all = await readIds(services.db, ownerId);
  const merges: Merge[] = [];
  let tried = 0;
  for (const ids of all) {
    if (merges.length === groupsAtOnce) break;
    tried += 1;
    try {
      const [group] = await readGroups(services.db, [ids]);
      if (!group) continue;
      const keepId = keepIds.find((id) => ids.includes(id)) ?? group.keepId;
      const removeIds = ids.filter((id) => id !== keepId);
      merges.push(await mergeDuplicates(services, { ownerId, keepId, removeIds }));
    } catch (error) {
      if (!(error instanceof AppError))
        services.log.error({ err: error }, "a group of duplicates was not merged");
    }
  }
  return { merges, left: all.length - tried };
}

export const dismissSchema = z.strictObject({
  imageIds: ids.min(2).max(mostOfGroup),
  /** False: they are proposed again. */
  dismissed: z.boolean().default(true),
});

/**
 * Notes that pictures are no duplicates of each other, so that they are proposed no more, or again. Throws `not_found` when none of
 * them is a pair.
 */
export async function dismissDuplicates(
  { db }: Pick<Services, "db">,
  { ownerId, imageIds, dismissed }: z.output<typeof dismissSchema> & { readonly ownerId: string },
): Promise<void> {
  const known = imageIds.filter(isId);
  const isAmong = and(
    eq(duplicatePairs.ownerId, ownerId),
    inArray(duplicatePairs.imageId, known),
    inArray(duplicatePairs.twinId, known),
  );
  await db.transaction(async (tx) => {
    if (!dismissed) await tx.delete(duplicatePairs).where(and(isAmong, eq(duplicatePairs.isFound, false)));
    const noted = await tx
      .update(duplicatePairs)
      .set({ dismissedAt: dismissed ? sql`coalesce(${duplicatePairs.dismissedAt}, now())` : null })
      .where(isAmong)
      .returning({ id: duplicatePairs.imageId });
    if (noted.length === 0) throw new AppError("not_found");
    if (dismissed) await keepApart(tx, ownerId, known);
  });
}

/** Those of a group that are no pair are kept apart too: a picture that is like both would bring them together again. */
async function keepApart(tx: Tx, ownerId: string, imageIds: readonly string[]): Promise<void> {
  // Locked in the order of all: a purge removes none of them in between.
  const own = await tx
    .select({ id: images.id })
    .from(images)
    .where(and(eq(images.ownerId, ownerId), inArray(images.id, [...imageIds])))
    .orderBy(images.id)
    .for("key share");
  const here = sql`select unnest(${sql.param(own.map(({ id }) => id))}::uuid[]) as id`;
  await tx.execute(sql`
    insert into ${duplicatePairs} as pair (image_id, twin_id, owner_id, dismissed_at, is_found)
    select one.id, other.id, ${ownerId}, now(), false from (${here}) one join (${here}) other on one.id < other.id
    order by one.id, other.id
    on conflict (image_id, twin_id) do update set dismissed_at = coalesce(pair.dismissed_at, now())`);
}
