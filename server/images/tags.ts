import { and, asc, eq, inArray, isNotNull, isNull, ne, sql } from "drizzle-orm";
import { z } from "zod";
import { type Db, lockTopic, schema, type Tx } from "../db/index.ts";
import { AppError, isId, newId } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { cleanTitle } from "./title.ts";
import { plainSpelling, searchForm, spellingsOf } from "./search-text.ts";

const { images, imageTags, tags } = schema;

export const tagLimits = { ofOwner: 1_000, perPicture: 30, characters: 40 } as const;

export const tagNameSchema = z.string().min(1).max(tagLimits.characters);

interface CleanName {
  /** As it is shown. */
  readonly name: string;
  /** As searches compare it. */
  readonly key: string;
}

/** A name that a search can ask for: one line without quotes. Throws `bad_request` for none, and for one that is too long. */
export function cleanName(text: string, maxCharacters: number): CleanName {
  const name = cleanTitle(text.replaceAll(/["“”„«»]/gu, " "));
  const key = searchForm(name);
  if (key === "") throw new AppError("bad_request", "The name has no letters.");
  if (key === "none") throw new AppError("bad_request", 'The name "none" stands for nothing in a search.');
  if (Array.from(name).length > maxCharacters)
    throw new AppError("bad_request", `The name has more than ${maxCharacters} characters.`);
  return { name, key };
}

const cleanTag = (text: string) => cleanName(text, tagLimits.characters);

export interface TagView {
  readonly id: string;
  readonly name: string;
  /** How many pictures have it. */
  readonly pictures: number;
}

/** The tags that pictures of an owner have, by the alphabet. */
export async function listTags({ db }: Pick<Services, "db">, ownerId: string): Promise<TagView[]> {
  const trashed = db
    .select({ tagId: imageTags.tagId, pictures: sql<number>`count(*)::int`.as("pictures") })
    .from(images)
    .innerJoin(imageTags, eq(imageTags.imageId, images.id))
    .where(and(eq(images.ownerId, ownerId), isNotNull(images.deletedAt)))
    .groupBy(imageTags.tagId)
    .as("trashed");
  // The index has how many pictures a tag has, and few of them are in the trash.
  const all = sql`(select count(*)::int from ${imageTags} where ${imageTags.tagId} = ${tags.id})`;
  const rows = await db
    .select({
      id: tags.id,
      name: tags.name,
      pictures: sql<number>`${all} - coalesce(${trashed.pictures}, 0)`,
    })
    .from(tags)
    .leftJoin(trashed, eq(trashed.tagId, tags.id))
    .where(eq(tags.ownerId, ownerId))
    .orderBy(asc(tags.key));
  return rows.filter(({ pictures }) => pictures > 0);
}

interface TagImagesInput {
  readonly ownerId: string;
  readonly ids: readonly string[];
  readonly name: string;
}

/**
 * Gives own pictures a tag; returns the ids that did not have it, and ignores foreign ones. Throws `bad_request` for a name
 * that cannot be, and when a picture or the owner would have too many tags.
 */
export async function tagImages({ db }: Pick<Services, "db">, input: TagImagesInput): Promise<string[]> {
  const tag = cleanTag(input.name);
  return db.transaction(async (tx) => {
    await lockTags(tx, input.ownerId);
    return addTag(tx, { ...input, ids: input.ids.filter(isId), tag });
  });
}

/** Two changes at once would both count one tag too few, and give two tags one name. */
const lockTags = (tx: Tx, ownerId: string) => lockTopic(tx, "tags", ownerId);

interface AddTagInput {
  readonly ownerId: string;
  readonly ids: readonly string[];
  readonly tag: CleanName;
}

/**
 * A tag that no picture has any more takes the spelling of now. One whose apostrophes are of another kind is the same tag;
 * older studios may hold both, of which the one spelled so is taken.
 */
async function addTag(tx: Tx, { ownerId, ids, tag }: AddTagInput): Promise<string[]> {
  const wanted = tx
    .select({ id: images.id })
    .from(images)
    .where(
      and(
        inArray(images.id, [...ids]),
        eq(images.ownerId, ownerId),
        isNull(images.deletedAt),
        ne(images.role, "mask"),
      ),
    );
  const added = await tx.execute<{ id: string }>(sql`
    with wanted as (${wanted}), alike as (
      select key from ${tags} where owner_id = ${ownerId} and ${inArray(tags.key, spellingsOf(tag.key))}
      order by key = ${tag.key} desc, key limit 1
    ), tag as (
      insert into ${tags} (id, owner_id, name, key)
      select ${newId()}::uuid, ${ownerId}, ${tag.name}, coalesce((select key from alike), ${plainSpelling(tag.key)})
      where exists (select from wanted)
      on conflict (owner_id, key) do update set
        name = case when exists (select from ${imageTags} where tag_id = ${tags.id}) then ${tags.name} else excluded.name end
      returning id
    )
    insert into ${imageTags} (tag_id, image_id) select tag.id, wanted.id from tag, wanted
    on conflict do nothing returning image_id as id`);
  await checkTags(tx, ownerId, ids);
  return added.map(({ id }) => id);
}

async function checkTags(tx: Tx, ownerId: string, ids: readonly string[]): Promise<void> {
  const { ofOwner, perPicture } = tagLimits;
  const full = await tx
    .select({ id: imageTags.imageId })
    .from(imageTags)
    .where(inArray(imageTags.imageId, [...ids]))
    .groupBy(imageTags.imageId)
    .having(sql`count(*) > ${perPicture}`)
    .limit(1);
  if (full.length > 0) throw new AppError("bad_request", `A picture can have ${perPicture} tags.`);
  if ((await tx.$count(tags, eq(tags.ownerId, ownerId))) > ofOwner)
    throw new AppError("bad_request", `You can have ${ofOwner} tags. Remove some that you do not need.`);
}

/** Takes a tag from own pictures; returns the ids that had it. */
export async function untagImages({ db }: Pick<Services, "db">, input: TagImagesInput): Promise<string[]> {
  const taken = await db.execute<{ id: string }>(sql`
    delete from ${imageTags} using ${tags} where ${tags.id} = ${imageTags.tagId} and ${tags.ownerId} = ${input.ownerId}
      and ${inArray(tags.key, spellingsOf(searchForm(input.name)))} and ${inArray(imageTags.imageId, input.ids.filter(isId))}
    returning ${imageTags.imageId} as id`);
  return taken.map(({ id }) => id);
}

/** The picture has these tags then, and no other. */
export async function setTags(
  tx: Tx,
  {
    ownerId,
    id,
    names,
  }: { readonly ownerId: string; readonly id: string; readonly names: readonly string[] },
): Promise<void> {
  await lockTags(tx, ownerId);
  const wanted = new Map(names.map(cleanTag).map((tag) => [plainSpelling(tag.key), tag]));
  const own = tx.select({ id: tags.id, key: tags.key }).from(tags).where(eq(tags.ownerId, ownerId)).as("own");
  const had = await tx
    .select({ key: own.key, tagId: own.id })
    .from(imageTags)
    .innerJoin(own, eq(own.id, imageTags.tagId))
    .where(eq(imageTags.imageId, id));
  const gone = had.filter(({ key }) => !wanted.has(plainSpelling(key))).map(({ tagId }) => tagId);
  await tx.delete(imageTags).where(and(eq(imageTags.imageId, id), inArray(imageTags.tagId, gone)));
  const kept = new Set(had.map(({ key }) => plainSpelling(key)));
  for (const [key, tag] of wanted) if (!kept.has(key)) await addTag(tx, { ownerId, ids: [id], tag });
}

interface OwnTagInput {
  readonly ownerId: string;
  readonly id: string;
}

/** Gives a tag another name; where there is one of that name, the two become one. Throws `not_found`, `bad_request`. */
export async function renameTag(
  { db }: Pick<Services, "db">,
  { ownerId, id, name: text }: OwnTagInput & { readonly name: string },
): Promise<{ readonly id: string; readonly name: string }> {
  const { name, key } = cleanTag(text);
  return db.transaction(async (tx) => {
    await lockTags(tx, ownerId);
    await requireTag(tx, { ownerId, id });
    const others = await tx
      .select({ id: tags.id })
      .from(tags)
      .where(and(eq(tags.ownerId, ownerId), inArray(tags.key, spellingsOf(key)), ne(tags.id, id)))
      .for("update");
    for (const other of others) {
      await tx.execute(sql`
        insert into ${imageTags} (tag_id, image_id) select ${id}::uuid, image_id from ${imageTags}
        where tag_id = ${other.id} on conflict do nothing`);
      await tx.delete(tags).where(eq(tags.id, other.id));
    }
    await tx
      .update(tags)
      .set({ name, key: plainSpelling(key) })
      .where(eq(tags.id, id));
    return { id, name };
  });
}

async function requireTag(db: Db | Tx, { ownerId, id }: OwnTagInput): Promise<void> {
  const own = and(eq(tags.id, id), eq(tags.ownerId, ownerId));
  const found = isId(id) ? await db.select({ id: tags.id }).from(tags).where(own).for("update") : [];
  if (found.length === 0) throw new AppError("not_found");
}

/** Removes a tag from all pictures, for good. Throws `not_found`. */
export async function removeTag({ db }: Pick<Services, "db">, own: OwnTagInput): Promise<void> {
  await db.transaction(async (tx) => {
    await requireTag(tx, own);
    await tx.delete(tags).where(eq(tags.id, own.id));
  });
}
