import { and, eq, inArray, sql } from "drizzle-orm";
import { z } from "zod";
import { schema, type Tx } from "../db/index.ts";
import { cleanDescription, cleanTitle, restoreImages } from "../images/index.ts";
import { AppError } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { type Merge, topOf, undoMergeSchema } from "./merge.ts";

const { boardImages, images, imageTags, tags, linkImages, links, wardrobeItems } = schema;

export const undoMergesSchema = z.strictObject({ merges: z.array(undoMergeSchema).min(1).max(50) });

interface UndoneMerges {
  /** Pictures that are back. */
  readonly ids: string[];
  /** Places in the list of merges of which not all pictures are back. */
  readonly failed: number[];
}

/** Takes merges back; one that cannot be taken back stops no other. */
export async function undoMerges(
  services: Pick<Services, "db" | "config" | "log">,
  { ownerId, merges }: z.output<typeof undoMergesSchema> & { readonly ownerId: string },
): Promise<UndoneMerges> {
  const done: UndoneMerges = { ids: [], failed: [] };
  for (const [at, merge] of merges.entries()) {
    try {
      const back = await undoMerge(services, { ...merge, ownerId });
      done.ids.push(...back);
      if (!isWhole(merge, back)) done.failed.push(at);
    } catch (error) {
      if (!(error instanceof AppError))
        services.log.error({ err: error }, "a merge of duplicates was not undone");
      done.failed.push(at);
    }
  }
  return done;
}

const isWhole = ({ removedIds }: Merge, back: readonly string[]) =>
  removedIds.every((id) => back.includes(id));

type OwnMerge = Merge & { readonly ownerId: string };

/**
 * Takes a merge back: the pictures are back from the trash with what they had, and once all are, the kept one loses what it got
 * from them, unless it was changed since. Returns the ids that are back, also those that were before. Throws `quota_exceeded` as
 * `restoreImages` does.
 */
export async function undoMerge(
  services: Pick<Services, "db" | "config">,
  merge: OwnMerge,
): Promise<string[]> {
  let back: string[] = [];
  const takeBack = async (tx: Tx) => {
    back = await takeFromKept(tx, merge);
  };
  await restoreImages(services, { ownerId: merge.ownerId, ids: merge.removedIds, takeBack });
  return back;
}

async function takeFromKept(tx: Tx, merge: OwnMerge): Promise<string[]> {
  const { ownerId, keepId, removedIds, tagIds, boardIds, places } = merge;
  const rows = await tx
    .select()
    .from(images)
    .where(and(inArray(images.id, [keepId, ...removedIds]), eq(images.ownerId, ownerId)))
    .orderBy(images.id)
    .for("no key update");
  const back = rows.filter(({ id, deletedAt }) => id !== keepId && deletedAt === null).map(({ id }) => id);
  const kept = rows.find(({ id }) => id === keepId);
  if (!kept) return back;
  for (const place of places)
    if (back.includes(place.imageId)) await movePlaceBack(tx, { ...place, ownerId, keepId });
  if (back.length === 0 || !isWhole(merge, back)) return back;
  await tx.update(images).set(marksBack(kept, merge)).where(eq(images.id, keepId));
  const ownTags = tx.select({ id: tags.id }).from(tags).where(eq(tags.ownerId, ownerId));
  await tx
    .delete(imageTags)
    .where(
      and(eq(imageTags.imageId, keepId), inArray(imageTags.tagId, tagIds), inArray(imageTags.tagId, ownTags)),
    );
  await tx
    .delete(boardImages)
    .where(and(eq(boardImages.imageId, keepId), inArray(boardImages.boardId, boardIds)));
  return back;
}

/** Those of before, but for what was changed since. */
function marksBack(kept: typeof images.$inferSelect, { before, after }: Merge) {
  return {
    rating: kept.rating === after.rating ? before.rating : kept.rating,
    starred: kept.starred === after.starred ? before.starred : kept.starred,
    title: kept.title === after.title ? cleanTitle(before.title) : kept.title,
    ...(kept.description === after.description && before.description !== undefined
      ? { description: cleanDescription(before.description), describedBy: before.describedBy ?? null }
      : {}),
    ...(topOf(kept).toppedAt === after.toppedAt && before.toppedAt !== undefined
      ? { toppedAt: before.toppedAt === null ? null : new Date(before.toppedAt) }
      : {}),
  };
}

type PlaceBack = Merge["places"][number] & { readonly ownerId: string; readonly keepId: string };

async function movePlaceBack(
  tx: Tx,
  { of, id, position, imageId, ownerId, keepId }: PlaceBack,
): Promise<void> {
  if (of === "wardrobe") {
    const isFree = sql`not exists (select from ${wardrobeItems} own where own.image_id = ${imageId})`;
    const isItem = and(
      eq(wardrobeItems.id, id),
      eq(wardrobeItems.ownerId, ownerId),
      eq(wardrobeItems.imageId, keepId),
      isFree,
    );
    await tx.update(wardrobeItems).set({ imageId }).where(isItem);
    return;
  }
  const ownLinks = tx.select({ id: links.id }).from(links).where(eq(links.ownerId, ownerId));
  await tx
    .update(linkImages)
    .set({ imageId })
    .where(
      and(
        eq(linkImages.linkId, id),
        inArray(linkImages.linkId, ownLinks),
        eq(linkImages.position, position),
        eq(linkImages.imageId, keepId),
      ),
    );
}
