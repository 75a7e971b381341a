import { and, count, eq, gt, isNull, or, sql, type SQL } from "drizzle-orm";
import { type Db, lockTopic, schema, surelyAgo, type Tx } from "../db/index.ts";
import { AppError, type Config, keptBy } from "../platform/index.ts";
import type { Services } from "../services.ts";
import type { IngestInput } from "./image.ts";

const { images, users } = schema;

/** Images of an owner, including deleted ones that can still be restored: they use space until they are purged. */
interface Kept {
  readonly pictures: number;
  readonly masks: number;
  readonly sizeBytes: number;
}

export interface Usage {
  readonly usedBytes: number;
  readonly limitBytes: number;
}

export interface NewImage {
  readonly ownerId: string;
  readonly role: IngestInput["role"];
  /** Of the stored original; 0 while it is not known. */
  readonly sizeBytes: number;
}

/**
 * Throws `quota_exceeded` when the owner is a guest who has as many pictures as guests may keep (masks count apart),
 * `storage_quota` when the owner's pictures would take up more bytes than they may.
 */
export async function checkQuota(db: Db | Tx, config: Config, image: NewImage): Promise<void> {
  const { ownerId, role, sizeBytes } = image;
  const { isGuest, limitBytes } = await readOwner(db, config, ownerId);
  const kept = await readKept(db, config, ownerId);
  const pictures = role === "mask" ? kept.masks : kept.pictures;
  if (isGuest && pictures >= config.limits.guestImages) throw tooManyPictures(config);
  if (isGuest) await checkGuestSpace(db, config, sizeBytes);
  const usedBytes = kept.sizeBytes;
  if (usedBytes + Math.max(sizeBytes, 1) > limitBytes) throw storageQuotaError({ usedBytes, limitBytes });
}

/** Age of the sum below: it reads the pictures of all guests, and a bound of this kind may be passed a little. */
const guestSumMs = 5_000;
const guestSumOf = keptBy(
  (_config: Config): { last: { readonly atMs: number; readonly sizeBytes: number } | null } => ({
    last: null,
  }),
);

/** Throws `storage_quota` when the pictures of all guests take up what guests may. A guest costs nothing, so each one's limit is none. */
export async function checkGuestSpace(db: Db | Tx, config: Config, sizeBytes = 0): Promise<void> {
  const kept = guestSumOf(config);
  const isFresh = kept.last !== null && performance.now() - kept.last.atMs < guestSumMs;
  const sum = kept.last && isFresh ? kept.last : await sumOfGuests(db);
  kept.last = sum;
  if (sum.sizeBytes + sizeBytes <= config.limits.bytesOfGuests) return;
  throw new AppError(
    "storage_quota",
    "The pictures of all guests take up the space that this studio gives to guests. Sign in or make an account to add more.",
    { details: { limitBytes: config.limits.bytesOfGuests } },
  );
}

async function sumOfGuests(db: Db | Tx): Promise<{ atMs: number; sizeBytes: number }> {
  const rows = await db.execute<{ sizeBytes: number }>(sql`
    select coalesce(sum(size_bytes), 0)::float8 as "sizeBytes" from ${images}
    where owner_id in (select id from ${users} where is_anonymous)`);
  return { atMs: performance.now(), sizeBytes: rows[0]?.sizeBytes ?? 0 };
}

/** For restored images, which `readKept` counts already. Throws `quota_exceeded`, for guests only. */
export async function checkRestored(tx: Tx, config: Config, ownerId: string): Promise<void> {
  if (!(await readOwner(tx, config, ownerId)).isGuest) return;
  const [live] = await tx
    .select({ pictures: count(notMask), masks: count(isMask) })
    .from(images)
    .where(and(eq(images.ownerId, ownerId), isNull(images.deletedAt)));
  if (Math.max(live?.pictures ?? 0, live?.masks ?? 0) > config.limits.guestImages)
    throw tooManyPictures(config);
}

/** The space that an owner's images use, and the limit. */
export async function readUsage(
  { db, config }: Pick<Services, "db" | "config">,
  ownerId: string,
): Promise<Usage> {
  const [{ limitBytes }, kept] = await Promise.all([
    readOwner(db, config, ownerId),
    readKept(db, config, ownerId),
  ]);
  return { usedBytes: kept.sizeBytes, limitBytes };
}

/** Excludes other uploads of this owner until the transaction ends, so that the counts above stay true. */
export async function lockUploadsOf(tx: Tx, ownerId: string): Promise<void> {
  await lockTopic(tx, "uploads", ownerId);
}

/** Key for `oneAtATime`: a transaction with the lock above waits here before it takes a connection. */
export function uploadKeyOf(ownerId: string): string {
  return `images of ${ownerId}`;
}

const isMask = sql`case when ${images.role} = 'mask' then 1 end`;
const notMask = sql`case when ${images.role} <> 'mask' then 1 end`;

interface Owner {
  readonly isGuest: boolean;
  readonly limitBytes: number;
}

async function readOwner(db: Db | Tx, { limits }: Config, ownerId: string): Promise<Owner> {
  const [owner] = await db
    .select({ isGuest: users.isAnonymous, quotaBytes: users.quotaBytes, deletedAt: users.deletedAt })
    .from(users)
    .where(eq(users.id, ownerId));
  // A request that began before would go on adding to what is being removed.
  if (owner?.deletedAt) throw new AppError("unauthorized", "This account was deleted.");
  const isGuest = owner?.isGuest ?? false;
  return { isGuest, limitBytes: owner?.quotaBytes ?? storageLimit(limits, isGuest) };
}

/** A time of deletion that lies before all others: nothing restores or lists such a picture, and `purgeDeleted` removes it. */
export const goneAt: SQL = sql`to_timestamp(0)`;

/** For how long a deleted picture of this user can be restored. */
export const trashMsOf = ({ retention }: Config, isGuest: boolean): number =>
  isGuest ? retention.undoDeleteMs : retention.trashMs;

/** The same of an owner by id. */
export async function readTrashMs(db: Db, config: Config, ownerId: string): Promise<number> {
  return trashMsOf(config, (await readOwner(db, config, ownerId)).isGuest);
}

/** SQL expression: since when a row of `images` must have been deleted to be restorable; masks go as early as a guest's pictures. */
export function restorableSince(config: Config): SQL {
  const isShort = sql`${images.role} = 'mask' or (select is_anonymous from ${users} where id = ${images.ownerId})`;
  return surelyAgo(
    sql`case when ${isShort} then ${trashMsOf(config, true)}::float8 else ${trashMsOf(config, false)}::float8 end`,
  );
}

async function readKept(db: Db | Tx, config: Config, ownerId: string): Promise<Kept> {
  const [kept] = await db
    .select({
      pictures: count(notMask),
      masks: count(isMask),
      sizeBytes: sql`coalesce(sum(${images.sizeBytes}), 0)`.mapWith(Number),
    })
    .from(images)
    .where(
      // Each side names the owner: so each finds its own index.
      or(
        and(eq(images.ownerId, ownerId), isNull(images.deletedAt)),
        and(eq(images.ownerId, ownerId), gt(images.deletedAt, restorableSince(config))),
      ),
    );
  return kept ?? { pictures: 0, masks: 0, sizeBytes: 0 };
}

/** SQL expression: the rule `maxBytes` of a user with a quota, as an object; without one an empty object. */
export function quotaRule(ownerId: string): SQL {
  return sql`coalesce((select jsonb_build_object('maxBytes', quota_bytes) from ${users}
    where id = ${ownerId} and quota_bytes is not null), '{}'::jsonb)`;
}

/** Bytes that the pictures of an owner without a quota of their own may take up. */
export function storageLimit(limits: Config["limits"], isGuest: boolean): number {
  return isGuest ? limits.bytesPerGuest : limits.bytesPerUser;
}

function tooManyPictures({ limits, retention }: Config): AppError {
  const minutes = Math.ceil(retention.undoDeleteMs / 60_000);
  return new AppError(
    "quota_exceeded",
    `Guests can keep ${limits.guestImages} pictures. Delete some (they count for another ${minutes} minutes), or make an account to keep more.`,
    { details: { limit: limits.guestImages } },
  );
}

export function storageQuotaError({ usedBytes, limitBytes }: Usage): AppError {
  const inMb = (bytes: number) => Math.round(bytes / 1024 ** 2);
  return new AppError(
    "storage_quota",
    `Your pictures take up ${inMb(usedBytes)} of ${inMb(limitBytes)} MB. Delete some for good, or empty the trash, to add more.`,
    { details: { usedBytes, limitBytes } },
  );
}
