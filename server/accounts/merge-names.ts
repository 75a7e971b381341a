/** What a guest has under names that the account may have, too: boards, tags and presets. */
import { and, asc, eq, inArray, isNull, sql } from "drizzle-orm";
import { freeBoardName, lockNamesakes } from "../board-names.ts";
import { schema, type Tx } from "../db/index.ts";
import { cleanName, plainSpelling } from "../images/index.ts";

const { boards, presets, tags } = schema;
/** As in server/presets, in characters. */
const maxPresetName = 60;

export interface Merge {
  readonly guestId: string;
  readonly accountId: string;
}

/**
 * A board whose name the account has, too, becomes the account's: both lists of pictures are on it. Not one that others see:
 * signing in must not publish what the guest alone could see. That one gets a number behind its name, as does a saved search that
 * differs. Removed boards get theirs when they are restored.
 */
export async function moveBoards(tx: Tx, { guestId, accountId }: Merge): Promise<void> {
  const ofGuest = eq(boards.ownerId, guestId);
  const lockLive = async () =>
    tx
      .select()
      .from(boards)
      .where(and(ofGuest, isNull(boards.removedAt)))
      .orderBy(asc(boards.createdAt), asc(boards.id))
      .for("update");
  for (const board of await lockLive()) await joinBoard(tx, board, accountId);
  for (const board of await lockLive()) {
    const free = await freeBoardName(tx, { ...board, ownerId: accountId });
    await tx
      .update(boards)
      .set({ ...free, ownerId: accountId })
      .where(eq(boards.id, board.id));
  }
  await tx.update(boards).set({ ownerId: accountId }).where(ofGuest);
}

async function joinBoard(
  tx: Tx,
  { id, key, search }: typeof boards.$inferSelect,
  accountId: string,
): Promise<void> {
  const named = { ownerId: accountId, id, key, isSearch: search !== null };
  const same = (await lockNamesakes(tx, named)).filter((own) => own.search === search);
  if (same.length === 0) return;
  const seen = await tx.execute<{ id: string }>(sql`
    select board_id as id from board_members where board_id in ${[id, ...same.map((own) => own.id)]}
    union select board_id from links where board_id in ${[id, ...same.map((own) => own.id)]} and revoked_at is null`);
  const isSeen = (boardId: string) => seen.some((one) => one.id === boardId);
  const own = isSeen(id) ? undefined : same.find((one) => !isSeen(one.id));
  if (!own) return;
  await tx.execute(sql`
    insert into board_images (board_id, image_id, added_at)
    select ${own.id}::uuid, image_id, added_at from board_images where board_id = ${id} on conflict do nothing`);
  await tx.delete(boards).where(eq(boards.id, id));
}

/** A word that both have becomes the account's, whichever apostrophe either is written with. */
export async function moveTags(tx: Tx, { guestId, accountId }: Merge): Promise<void> {
  const tagsOf = async (ownerId: string) =>
    tx.select().from(tags).where(eq(tags.ownerId, ownerId)).orderBy(asc(tags.key)).for("update");
  const own = await tagsOf(accountId);
  const joined: { from: string; into: string }[] = [];
  for (const tag of await tagsOf(guestId)) {
    const alike = own.filter(({ key }) => plainSpelling(key) === plainSpelling(tag.key));
    const into = alike.find(({ key }) => key === tag.key) ?? alike[0];
    if (into) joined.push({ from: tag.id, into: into.id });
    else own.push(tag);
  }
  const pairs = sql`jsonb_to_recordset(${JSON.stringify(joined)}::jsonb) as pair("from" uuid, "into" uuid)`;
  await tx.execute(sql`
    insert into image_tags (tag_id, image_id)
    select pair."into", image_id from ${pairs} join image_tags on tag_id = pair."from" on conflict do nothing`);
  await tx.execute(sql`delete from tags using ${pairs} where tags.id = pair."from"`);
  await tx.update(tags).set({ ownerId: accountId }).where(eq(tags.ownerId, guestId));
}

/** Of a name that both have the account's stays as it is, since prompts name it; the guest's gets a number, unless it says the same. */
export async function movePresets(tx: Tx, { guestId, accountId }: Merge): Promise<void> {
  const others = await tx.execute<Pick<typeof presets.$inferSelect, "id" | "type" | "name">>(sql`
    select guest.id, guest.type, guest.name from presets guest join presets own on own.type = guest.type and own.key = guest.key
    where guest.owner_id = ${guestId} and own.owner_id = ${accountId} and own.content <> guest.content
      and guest.removed_at is null and own.removed_at is null order by guest.created_at, guest.id`);
  for (const { id, type, name } of others) {
    const free = await freePresetName(tx, { type, name, ownerIds: [guestId, accountId] });
    await tx.update(presets).set(free).where(eq(presets.id, id));
  }
  await tx.execute(sql`
    update presets set owner_id = ${accountId}
    where owner_id = ${guestId} and not exists (
      select 1 from presets own where own.owner_id = ${accountId} and own.type = presets.type
        and own.key = presets.key and own.removed_at is null)`);
}

interface Preset extends Pick<typeof presets.$inferSelect, "type" | "name"> {
  readonly ownerIds: readonly string[];
}

/** With the lowest number behind it by which none of the owners has one. */
async function freePresetName(tx: Tx, { type, name, ownerIds }: Preset) {
  for (let number = 2; ; number += 1) {
    const end = ` ${number}`;
    const start = Array.from(name)
      .slice(0, maxPresetName - end.length)
      .join("");
    // What a list is called ends with a letter or a digit.
    const tried = cleanName(`${start.replace(/[^\p{L}\p{N}]+$/u, "")}${end}`, maxPresetName);
    const isSame = and(eq(presets.type, type), eq(presets.key, tried.key), isNull(presets.removedAt));
    if ((await tx.$count(presets, and(isSame, inArray(presets.ownerId, [...ownerIds])))) === 0) return tried;
  }
}
