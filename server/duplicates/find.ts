import { buffer } from "node:stream/consumers";
import { and, eq, inArray, isNull, type SQL, sql } from "drizzle-orm";
import { type Db, schema } from "../db/index.ts";
import { objectKey } from "../images/index.ts";
import type { Duty } from "../leases/index.ts";
import { isOwnLack } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { openObject } from "../storage/index.ts";
import { isSame, type Look, lookOf } from "./look.ts";

const { duplicatePairs, images, likenesses } = schema;

type Finding = Pick<Services, "db" | "disk" | "log">;

/** Pictures that are compared in one go: their looks are held in memory. */
const picturesAtOnce = 25;
const picturesOfDuty = 500;

/** Compares new pictures, and after an update or a restored backup those that were there, some at a time. */
export const duplicateDuty: Duty = {
  name: "pictures that look the same",
  everyMs: 15_000,
  run: (services, signal) => comparePictures(services, { most: picturesOfDuty, signal }),
};

const dayMs = 86_400_000;

/** Lets pictures wait to be compared that came in without the trigger: before the table was there, or from a backup. */
export const likenessDuty: Duty = { name: "pictures without a likeness", everyMs: dayMs, run: addMissing };

async function addMissing({ db }: Pick<Services, "db">): Promise<void> {
  await db.execute(sql`
    insert into ${likenesses} (image_id, owner_id)
    select i.id, i.owner_id from ${images} i where i.role <> 'mask'
      and not exists (select from ${likenesses} l where l.image_id = i.id)
    on conflict do nothing`);
}

interface CompareInput {
  /** Only pictures of this user. */
  readonly ownerId?: string | undefined;
  readonly most: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Compares pictures that were not compared yet with all others of their owners, the newest first, and notes pairs that look the
 * same. Safe to do twice and by several processes. Returns how many were compared. Throws `storage_unavailable`.
 */
export async function comparePictures(services: Finding, input: CompareInput): Promise<number> {
  let compared = 0;
  while (compared < input.most && !input.signal?.aborted) {
    const open = await readOpen(services.db, input.ownerId, Math.min(picturesAtOnce, input.most - compared));
    if (open.length === 0) break;
    await compareSome(services, open);
    compared += open.length;
  }
  return compared;
}

interface Picture extends Record<string, unknown> {
  readonly id: string;
  readonly ownerId: string;
  readonly storageKey: string;
  readonly mime: string;
  readonly stack: string;
  /** Width by height. */
  readonly ratio: number;
}

const pictureColumns = sql`i.id, i.owner_id as "ownerId", i.storage_key as "storageKey", i.mime,
  coalesce(i.stack_id, i.id) as stack, i.width_px::float8 / i.height_px as ratio`;

async function readOpen(db: Db, ownerId: string | undefined, most: number): Promise<Picture[]> {
  const ofOwner = ownerId === undefined ? sql`` : sql`and l.owner_id = ${ownerId}`;
  return [
    ...(await db.execute<Picture>(sql`
      select ${pictureColumns} from ${likenesses} l join ${images} i on i.id = l.image_id
      where l.compared_at is null ${ofOwner} order by l.image_id desc limit ${most}`)),
  ];
}

async function compareSome(services: Finding, open: readonly Picture[]): Promise<void> {
  const { db } = services;
  const looks = new Map<string, Look | null>();
  for (const picture of open) looks.set(picture.id, await readLook(services, picture));
  // Stored before anything is compared: of two processes that compare two pictures at once, the later one finds both.
  await storeHashes(db, looks);
  const pairs: (typeof duplicatePairs.$inferInsert)[] = [];
  const byId = new Map(open.map((picture) => [picture.id, picture]));
  for (const { openId, ...other } of await findSimilar(db, open, looks)) {
    const picture = byId.get(openId);
    if (!picture || !hasSameShape(picture, other)) continue;
    const look = looks.get(openId);
    const otherLook = looks.get(other.id) ?? (await readLook(services, other));
    looks.set(other.id, otherLook);
    if (!look || !otherLook || !isSame(look, otherLook)) continue;
    const [imageId = "", twinId = ""] = [openId, other.id].toSorted();
    pairs.push({ imageId, twinId, ownerId: picture.ownerId });
  }
  await storePairs(db, pairs, [...byId.keys()]);
}

/** Null for a picture whose thumbnail is missing or cannot be read: it is like no other. */
async function readLook({ disk, log }: Finding, picture: Picture): Promise<Look | null> {
  const found = await openObject(disk, objectKey(picture, "thumbnail"));
  if (!found) return null;
  const bytes = await buffer(found.stream);
  return lookOf(bytes).catch((error: unknown) => {
    if (isOwnLack(error)) throw error;
    log.warn({ err: error, imageId: picture.id }, "a thumbnail cannot be read, its picture is not compared");
    return null;
  });
}

async function storeHashes(db: Db, looks: ReadonlyMap<string, Look | null>): Promise<void> {
  const rows = [...looks].map(([id, look]) => ({ id, hash: look?.hash.toString() ?? null }));
  await db.execute(sql`
    update ${likenesses} l set hash = made.hash
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as made(id uuid, hash bigint) where l.image_id = made.id`);
}

/** Of 64 bits. Copies that are lighter, smaller or cropped by 2 % differ in at most 11; different photos in 17 and more. */
const mostBits = 12;
/** Of pictures with the same part of a hash: there are thousands of plain ones. */
const mostOfPart = 300;
const mostSimilar = 8;

/** As in the indexes `likenesses_part_1` to `likenesses_part_4`. */
const partColumns = [
  sql`((hash >> 48) & 65535)`,
  sql`((hash >> 32) & 65535)`,
  sql`((hash >> 16) & 65535)`,
  sql`(hash & 65535)`,
];

interface Similar extends Picture {
  readonly openId: string;
}

/** Pictures of the same owner, but not of the same stack, whose hash differs little; those in the trash last. */
async function findSimilar(
  db: Db,
  open: readonly Picture[],
  looks: ReadonlyMap<string, Look | null>,
): Promise<Similar[]> {
  const asked = open.flatMap(({ id, ownerId, stack }) => {
    const look = looks.get(id);
    if (!look) return [];
    const [one, two, three, four] = look.parts;
    return [{ id, owner: ownerId, stack, hash: look.hash.toString(), one, two, three, four }];
  });
  if (asked.length === 0) return [];
  const withPart = (column: SQL | undefined, values: string) => sql`
    (select image_id, hash from ${likenesses} where owner_id = o.owner and ${column} = any(o.${sql.raw(values)}) limit ${mostOfPart})`;
  const [first, second, third, fourth] = partColumns;
  return [
    ...(await db.execute<Similar>(sql`
      select o.id as "openId", found.* from jsonb_to_recordset(${JSON.stringify(asked)}::jsonb)
        as o(id uuid, owner text, stack uuid, hash bigint, one bigint[], two bigint[], three bigint[], four bigint[]),
      lateral (
        select ${pictureColumns} from (
          ${withPart(first, "one")} union ${withPart(second, "two")} union
          ${withPart(third, "three")} union ${withPart(fourth, "four")}
        ) near join ${images} i on i.id = near.image_id
        where bit_count((near.hash # o.hash)::bit(64)) <= ${mostBits}
          and i.id <> o.id and i.owner_id = o.owner and coalesce(i.stack_id, i.id) <> o.stack
        order by i.deleted_at is not null, bit_count((near.hash # o.hash)::bit(64)), i.id limit ${mostSimilar}
      ) found`)),
  ];
}

const mostStretched = 0.07;

function hasSameShape(one: Picture, other: Picture): boolean {
  return Math.abs(Math.log(one.ratio / other.ratio)) <= mostStretched;
}

async function storePairs(
  db: Db,
  pairs: readonly (typeof duplicatePairs.$inferInsert)[],
  comparedIds: readonly string[],
): Promise<void> {
  await db.transaction(async (tx) => {
    // A picture may be gone, or the account's of a guest, since it was read.
    await tx.execute(sql`
      insert into ${duplicatePairs} (image_id, twin_id, owner_id)
      select i.id, t.id, i.owner_id from (
        select distinct * from jsonb_to_recordset(${JSON.stringify(pairs)}::jsonb) as read("imageId" uuid, "twinId" uuid)) made
      join ${images} i on i.id = made."imageId" join ${images} t on t.id = made."twinId" and t.owner_id = i.owner_id
      order by i.id, t.id
      for share of i, t
      on conflict (image_id, twin_id) do update set is_found = true where not ${duplicatePairs.isFound}`);
    await tx
      .update(likenesses)
      .set({ comparedAt: sql`now()` })
      .where(and(inArray(likenesses.imageId, [...comparedIds]), isNull(likenesses.comparedAt)));
  });
}

/** Pictures of a user that are still to be compared. */
export function countWaiting({ db }: Pick<Services, "db">, ownerId: string): Promise<number> {
  return db.$count(likenesses, and(eq(likenesses.ownerId, ownerId), isNull(likenesses.comparedAt)));
}
