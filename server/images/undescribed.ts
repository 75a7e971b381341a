import { addAbortSignal } from "node:stream";
import { type SQL, sql } from "drizzle-orm";
import sharp from "sharp";
import { type Db, schema } from "../db/index.ts";
import type { Locale } from "../locales.ts";
import { isOwnLack, orAborted } from "../platform/index.ts";
import { type ImageDisk, openObject, storageFailure } from "../storage/index.ts";
import { objectKey, type StoredObject } from "./image.ts";
import { cleanDescription } from "./title.ts";

const { assistantSettings, descriptionTries, images, jobs, users } = schema;

/** A picture that nothing says anything about: no description, and no prompt that it was made by. */
export interface Undescribed extends StoredObject, Record<string, unknown> {
  readonly id: string;
  readonly ownerId: string;
  /** The owner's language; null when it is not known. */
  readonly locale: Locale | null;
  /** Whether the model has been asked about it before. */
  readonly wasTried: boolean;
}

const withOwner = sql`${images} i join ${users} u on u.id = i.owner_id left join ${jobs} j on j.id = i.job_id`;

/** Words of a file, a model or the owner are never replaced, nor is what an owner emptied filled. */
const isUndescribed = sql`i.role <> 'mask' and i.deleted_at is null and i.described_by is null and i.description = ''
  and coalesce(btrim(j.params ->> 'prompt'), '') = ''
  and u.deleted_at is null and not coalesce(u.banned, false) and coalesce(u.role, 'user') <> 'service'
  and not exists (select from ${assistantSettings} s where s.user_id = i.owner_id and not s.describes_pictures)`;

/** Pauses after failures of one picture grow from ten minutes to a day and a half; then it stays as it is. */
const mostTries = 5;
const firstPauseMinutes = 10;
const growth = 6;

interface FindInput {
  readonly model: string;
  /** Ids between which they are, each without itself. */
  readonly after?: string;
  readonly before?: string;
  readonly most: number;
}

/** The newest pictures that this model may describe now. */
export async function findUndescribed(db: Db, find: FindInput): Promise<Undescribed[]> {
  const { model, after, before, most } = find;
  const newer = after === undefined ? sql`` : sql`and i.id > ${after}`;
  const older = before === undefined ? sql`` : sql`and i.id < ${before}`;
  const rows = await db.execute<Undescribed>(sql`
    select i.id, i.owner_id as "ownerId", i.storage_key as "storageKey", i.mime, coalesce(u.locale, u.browser_locale) as locale, t.image_id is not null as "wasTried"
    from ${withOwner} left join ${descriptionTries} t on t.image_id = i.id and t.model = ${model}
    where ${isUndescribed} ${newer} ${older} and coalesce(t.tries < ${mostTries} and t.due_at <= clock_timestamp(), true)
    order by i.id desc limit ${most}`);
  return [...rows];
}

/** Whether a picture is still to be described. */
export async function isStillUndescribed(db: Db, id: string): Promise<boolean> {
  const rows = await db.execute(sql`select from ${withOwner} where i.id = ${id} and ${isUndescribed}`);
  return rows.length > 0;
}

/** Stores what a model wrote; false when the picture is gone, or has words by now. */
export async function storeModelDescription(
  db: Db,
  { id, text }: { readonly id: string; readonly text: string },
): Promise<boolean> {
  const rows = await db.execute(sql`
    with wanted as (select i.id from ${withOwner} where i.id = ${id} and ${isUndescribed} for update of i),
      untried as (delete from ${descriptionTries} where image_id in (select id from wanted))
    update ${images} set description = ${cleanDescription(text)}, described_by = 'model' from wanted where ${images}.id = wanted.id
    returning ${images}.id`);
  return rows.length > 0;
}

interface TryInput {
  readonly id: string;
  readonly model: string;
  /** Whether the picture may be the cause: only then it is given up in the end. */
  readonly isCounted: boolean;
}

/** Keeps that a picture was not described, so that all others come before it. */
export async function noteTry(db: Db, { id, model, isCounted }: TryInput): Promise<void> {
  const added = isCounted ? 1 : 0;
  const dueAfter = (tries: SQL) =>
    sql`clock_timestamp() + ${firstPauseMinutes} * power(${growth}, greatest(${tries} - 1, 0)) * interval '1 minute'`;
  const before = sql`case when known.model = excluded.model then known.tries else 0 end`;
  await db.execute(sql`
    insert into ${descriptionTries} as known (image_id, model, tries, due_at)
    select id, ${model}, ${added}::smallint, ${dueAfter(sql`${added}::int`)} from (
      select id from ${images} where id = ${id} for key share) there
    on conflict (image_id) do update set model = excluded.model, tries = (${before}) + excluded.tries,
      due_at = ${dueAfter(sql`((${before}) + excluded.tries)`)}`);
}

/** How far the descriptions of all users are. */
export interface DescriptionCounts extends Record<string, unknown> {
  readonly described: number;
  readonly waiting: number;
  /** Of the waiting ones those that this model does not try again. */
  readonly givenUp: number;
}

export async function countDescriptions(db: Db, model: string): Promise<DescriptionCounts> {
  const [row] = await db.execute<DescriptionCounts>(sql`
    select (select count(*)::int from ${images} where described_by = 'model' and deleted_at is null) as described,
      count(*)::int as waiting, count(*) filter (where t.tries >= ${mostTries})::int as "givenUp"
    from ${withOwner} left join ${descriptionTries} t on t.image_id = i.id and t.model = ${model} where ${isUndescribed}`);
  return row ?? { described: 0, waiting: 0, givenUp: 0 };
}

/** The least that a model is sent of each side: some models refuse smaller pictures. */
const leastPx = 56;
/** Of a preview; more than any has. */
const maxPreviewBytes = 8 * 1024 ** 2;

interface SentSize {
  /** Of the longer side, at most. */
  readonly longestPx: number;
  readonly signal: AbortSignal;
}

/** A picture as a model is sent it. */
export interface SentJpeg {
  readonly data: Buffer;
  readonly width: number;
  readonly height: number;
}

/**
 * A small JPEG of a picture without metadata, made of its preview; null when that is missing or cannot be decoded. Throws
 * `storage_unavailable`, what says that there was no memory, and the signal's reason: a store may be silent for minutes.
 */
export async function pictureForModel(
  disk: ImageDisk,
  picture: StoredObject,
  { longestPx, signal }: SentSize,
): Promise<SentJpeg | null> {
  const bytes = await readPreview(disk, objectKey(picture, "preview"), signal);
  if (!bytes) return null;
  try {
    const small = sharp(bytes)
      .flatten({ background: "#ffffff" })
      .resize(longestPx, longestPx, { fit: "inside", withoutEnlargement: true });
    const { data, info } = await small.jpeg({ quality: 85 }).toBuffer({ resolveWithObject: true });
    const { width, height } = info;
    if (width >= leastPx && height >= leastPx) return { data, width, height };
    const room = { width: Math.max(width, leastPx), height: Math.max(height, leastPx) };
    const padded = sharp(data).resize({ ...room, fit: "contain", background: "#ffffff" });
    return { data: await padded.jpeg().toBuffer(), ...room };
  } catch (error) {
    signal.throwIfAborted();
    if (isOwnLack(error)) throw error;
    return null;
  }
}

/** Null when there is none, or it is too large. */
async function readPreview(disk: ImageDisk, key: string, signal: AbortSignal): Promise<Buffer | null> {
  const opening = openObject(disk, key);
  const found = await orAborted(opening, signal).catch((error: unknown) => {
    void opening.then(
      (late) => late?.stream.destroy(),
      () => undefined,
    );
    throw error;
  });
  if (!found) return null;
  const chunks: Buffer[] = [];
  let left = maxPreviewBytes;
  try {
    for await (const chunk of addAbortSignal(signal, found.stream)) {
      left -= chunk.length;
      if (left < 0) return null;
      chunks.push(chunk);
    }
  } catch (error) {
    signal.throwIfAborted();
    throw storageFailure(error);
  }
  return Buffer.concat(chunks);
}

/** A JPEG of one colour, which shows whether a model sees what it is sent. */
export async function plainPicture(background: string): Promise<Buffer> {
  const size = { width: 224, height: 224 };
  return sharp({ create: { ...size, channels: 3, background } })
    .jpeg()
    .toBuffer();
}
