import { and, eq, gt, inArray, isNotNull, isNull, ne, notExists, or, type SQL, sql } from "drizzle-orm";
import { alias } from "drizzle-orm/pg-core";
import { z } from "zod";
import { recordAct } from "../audit/index.ts";
import { type Db, type DescribedBy, lockTopic, schema, type Tx } from "../db/index.ts";
import { AppError, type Config, isAppError, isId, oneAtATime } from "../platform/index.ts";
import type { Services } from "../services.ts";
import {
  findOwnImage,
  type ImageView,
  isOwn,
  type OwnImageInput,
  type StoredOriginal,
  toImageView,
  viewColumns,
} from "./image.ts";
import { findSameBytes } from "./ingest.ts";
import { stackOf, topFirst } from "./list.ts";
import { giveDates, givenDate } from "./dates.ts";
import { cleanDescription, cleanTitle } from "./title.ts";
import { isLost } from "./serve.ts";
import { checkRestored, goneAt, lockUploadsOf, restorableSince, uploadKeyOf } from "./quota.ts";
import { setTags, tagLimits, tagNameSchema } from "./tags.ts";

const { images, jobs } = schema;

/** One picture of the owner. Throws `not_found`. */
export async function getImage(services: Pick<Services, "db">, input: OwnImageInput): Promise<ImageView> {
  return toImageView(await findOwnImage(services.db, input));
}

/** One picture of the owner; null where there is none. */
export async function findImage(
  services: Pick<Services, "db">,
  input: OwnImageInput,
): Promise<ImageView | null> {
  try {
    return await getImage(services, input);
  } catch (error) {
    if (isAppError(error) && error.code === "not_found") return null;
    throw error;
  }
}

interface OwnHash {
  readonly ownerId: string;
  readonly role: "upload" | "mask";
  /** Of the bytes of a file as they were sent, in hexadecimal digits. */
  readonly sha256: string;
}

/** The owner's picture that was made of a file of these bytes and has its files. Throws `not_found`. */
export async function getImageByHash(
  services: Pick<Services, "db" | "disk" | "log">,
  { ownerId, role, sha256 }: OwnHash,
): Promise<ImageView> {
  const same = await findSameBytes(services.db, { ownerId, role, uploadSha256: sha256 });
  if (!same || (await isLost(services, same))) throw new AppError("not_found");
  return getImage(services, { ownerId, id: same.id });
}

interface OwnImagesInput {
  readonly ownerId: string;
  readonly ids: readonly string[];
}

/** Marks own images as deleted, so they can still be restored; returns the ids that existed and ignores others. */
export async function removeImages(
  services: { readonly db: Db | Tx },
  { ownerId, ids }: OwnImagesInput,
): Promise<string[]> {
  const removed = await services.db
    .update(images)
    .set({ deletedAt: sql`now()` })
    .where(and(inArray(images.id, ids.filter(isId)), eq(images.ownerId, ownerId), isNull(images.deletedAt)))
    .returning({ id: images.id });
  return removed.map(({ id }) => id);
}

export const changeImageSchema = z.strictObject({
  title: z.string().max(1_000).optional(),
  description: z.string().max(10_000).optional(),
  starred: z.boolean().optional(),
  rating: z.int().min(0).max(5).optional(),
  tags: z.array(tagNameSchema).max(tagLimits.perPicture).optional(),
  onTop: z.boolean().optional(),
  createdAt: givenDate.optional(),
});

interface ChangeImageInput extends OwnImageInput {
  /** It is cleaned to one line of printable text. */
  readonly title?: string | undefined;
  /** It is cleaned to lines of printable text. */
  readonly description?: string | undefined;
  readonly starred?: boolean | undefined;
  /** 0 to 5. */
  readonly rating?: number | undefined;
  /** All tags that it has then. */
  readonly tags?: readonly string[] | undefined;
  /** True: it shows its stack, whatever comes onto it. False: the newest of its stack does. */
  readonly onTop?: boolean | undefined;
  /** Where it stands in lists, ISO 8601; null: when it was made or taken. */
  readonly createdAt?: string | null | undefined;
}

/** Changes what is given of a picture. Throws `not_found`, `bad_request` for a tag that cannot be. */
export async function changeImage(
  services: Pick<Services, "db">,
  { title, description, starred, rating, tags, onTop, createdAt, ...own }: ChangeImageInput,
): Promise<ImageView> {
  await services.db.transaction(async (tx) => {
    if (onTop !== undefined) await chooseTopIn(tx, { ...own, onTop });
    const changes = { title: title === undefined ? undefined : cleanTitle(title), starred, rating };
    const described = description === undefined ? {} : describedByOwner(cleanDescription(description));
    // The id changes nothing: it keeps the statement whole when there are only tags.
    const changed = await tx
      .update(images)
      .set({ ...changes, ...described, id: own.id })
      .where(isOwn(own))
      .returning({ id: images.id });
    if (changed.length === 0) throw new AppError("not_found");
    if (createdAt !== undefined) await giveDates(tx, [{ id: own.id, createdAt }]);
    if (tags !== undefined) await setTags(tx, { ...own, names: tags });
  });
  return getImage(services, own);
}

/**
 * Chooses the picture that shows its stack, or none, and returns the one that was chosen before; null for the newest. Throws
 * `not_found`.
 */
export function chooseTop(
  services: Pick<Services, "db">,
  input: OwnImageInput & { readonly onTop: boolean },
): Promise<{ readonly beforeId: string | null }> {
  return services.db.transaction((tx) => chooseTopIn(tx, input));
}

/** A chosen one in the trash stays chosen: it shows the stack again when it is back, unless another one was chosen since. */
async function chooseTopIn(
  tx: Tx,
  { onTop, ...own }: OwnImageInput & { readonly onTop: boolean },
): Promise<{ readonly beforeId: string | null }> {
  const [asked] = await tx
    .select({ stackId: sql<string>`${stackOf(images)}` })
    .from(images)
    .where(and(isOwn(own), ne(images.role, "mask")));
  if (!asked) throw new AppError("not_found");
  await lockTopic(tx, "stack", asked.stackId);
  const isOfStack = and(
    eq(images.ownerId, own.ownerId),
    isNull(images.deletedAt),
    sql`${stackOf(images)} = ${asked.stackId}`,
  );
  const chosen = await tx
    .select({ id: images.id })
    .from(images)
    .where(and(isOfStack, isNotNull(images.toppedAt)))
    .orderBy(topFirst(images));
  await tx
    .update(images)
    .set({ toppedAt: onTop ? sql`case when ${images.id} = ${own.id} then clock_timestamp() end` : null })
    .where(and(isOfStack, or(eq(images.id, own.id), isNotNull(images.toppedAt))));
  return { beforeId: chosen[0]?.id ?? null };
}

/** The same words again change nothing, neither whose they are. */
const describedByOwner = (description: string) => ({
  description,
  describedBy: sql<DescribedBy>`case when ${images.description} = ${description} then ${images.describedBy} else 'owner' end`,
});

/** Rates or stars own pictures, 0 takes the rating away; returns the ids that existed and ignores others. */
export async function markImages(
  { db }: Pick<Services, "db">,
  { ownerId, ids, ...mark }: OwnImagesInput & (Pick<ImageView, "rating"> | Pick<ImageView, "starred">),
): Promise<string[]> {
  const marked = await db
    .update(images)
    .set(mark)
    .where(and(inArray(images.id, ids.filter(isId)), eq(images.ownerId, ownerId), isNull(images.deletedAt)))
    .returning({ id: images.id });
  return marked.map(({ id }) => id);
}

interface RestoreInput extends OwnImagesInput {
  /** What goes with it in the same transaction, also when none comes back. */
  readonly takeBack?: ((tx: Tx) => Promise<void>) | undefined;
}

/**
 * Takes back the deletion of own pictures within the time of the trash; returns the ids that are back. One
 * whose bytes were uploaded again in the meantime stays deleted: its twin is there. Throws `quota_exceeded` when a guest
 * would have too many; all stay deleted then.
 */
export async function restoreImages(
  services: Pick<Services, "db" | "config">,
  { ownerId, ids, takeBack }: RestoreInput,
): Promise<string[]> {
  const { config, db } = services;
  const wanted = [...new Set(ids.filter(isId))];
  return oneAtATime(uploadKeyOf(ownerId), () =>
    db.transaction(async (tx) => {
      // Uploads of this owner wait, so that no twin can appear between the check below and the commit.
      await lockUploadsOf(tx, ownerId);
      const restored = await restoreAll(tx, config, { ownerId, ids: wanted });
      if (restored.size > 0) await checkRestored(tx, config, ownerId);
      await takeBack?.(tx);
      return wanted.filter((id) => restored.has(id));
    }),
  );
}

/** In one statement, which sees no row that it restores itself: of two deleted twins only the newer one may come back. */
async function restoreAll(
  tx: Tx,
  config: Config,
  { ownerId, ids }: OwnImagesInput,
): Promise<ReadonlySet<string>> {
  const twin = alias(images, "twin");
  const otherTwin = tx
    .select({ one: sql`1` })
    .from(twin)
    .where(
      and(
        sql`${twin.ownerId} = ${images.ownerId} and ${twin.role} = ${images.role}
          and ${twin.uploadSha256} = ${images.uploadSha256}`,
        sql`(${twin.deletedAt} is null or (${twin.id} > ${images.id} and ${inArray(twin.id, [...ids])}
          and ${twin.deletedAt} > ${restorableSince(config)}))`,
      ),
    );
  const restored = await tx
    .update(images)
    .set({ deletedAt: null })
    .where(
      and(
        inArray(images.id, [...ids]),
        eq(images.ownerId, ownerId),
        gt(images.deletedAt, restorableSince(config)),
        notExists(otherTwin),
      ),
    )
    .returning({ id: images.id });
  return new Set(restored.map(({ id }) => id));
}

const inTrash = (ownerId: string) =>
  and(eq(images.ownerId, ownerId), gt(images.deletedAt, goneAt), ne(images.role, "mask"));

/** Deletes own pictures of the trash for good; returns the ids that were there. */
export async function deleteForGood(
  { db }: Pick<Services, "db">,
  { ownerId, ids }: OwnImagesInput,
): Promise<string[]> {
  const among = and(inTrash(ownerId), inArray(images.id, ids.filter(isId)));
  return db.transaction((tx) => endForGood(tx, ownerId, among));
}

/** Deletes everything in the trash of an owner for good; returns how many pictures that are. */
export async function emptyTrash({ db }: Pick<Services, "db">, ownerId: string): Promise<number> {
  const gone = await db.transaction((tx) => endForGood(tx, ownerId, inTrash(ownerId)));
  return gone.length;
}

async function endForGood(tx: Tx, ownerId: string, among: SQL | undefined): Promise<string[]> {
  const gone = await tx.update(images).set({ deletedAt: goneAt }).where(among).returning({ id: images.id });
  const details = { pictures: gone.length };
  if (gone.length > 0) await recordAct(tx, { kind: "pictures.deleted", by: ownerId, details });
  return gone.map(({ id }) => id);
}

const pageSize = 500;

/** A picture with what locates its file. */
export interface OwnedImage extends StoredOriginal {
  readonly view: ImageView;
}

/** All pictures of an owner with the masks, the oldest first, without deleted ones; read page by page. */
export async function* readAllImages(
  { db }: Pick<Services, "db">,
  ownerId: string,
): AsyncGenerator<OwnedImage> {
  const own = and(eq(images.ownerId, ownerId), isNull(images.deletedAt));
  for (let after: string | null = null; ;) {
    const rows = await db
      .select(viewColumns)
      .from(images)
      .leftJoin(jobs, eq(jobs.id, images.jobId))
      .where(after === null ? own : and(own, gt(images.id, after)))
      .orderBy(images.id)
      .limit(pageSize);
    for (const row of rows) yield { ...row.image, view: toImageView(row) };
    after = rows.at(-1)?.image.id ?? null;
    if (rows.length < pageSize) return;
  }
}
