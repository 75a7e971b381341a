import { and, eq, inArray, isNull, type SQL, sql } from "drizzle-orm";
import { z } from "zod";
import { recordAct } from "../audit/index.ts";
import {
  cleanBoardName,
  freeBoardName,
  lockBoardNames,
  lockNamesakes,
  maxBoardName,
} from "../board-names.ts";
import { ago, schema, type Tx } from "../db/index.ts";
import { checkSearch } from "../images/index.ts";
import { AppError, isId, newId } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { isBoardOf, requireBoardOf, withTurned } from "./access.ts";
import { type BoardView, getBoard, own, type OwnBoard } from "./read.ts";

const { boardImages, boards, images } = schema;

const limits = { ofOwner: 200, idsPerCall: 500 } as const;

const name = z.string().min(1).max(maxBoardName);
const search = z.string().trim().min(1).max(500);
const imageIds = z.array(z.uuid()).max(limits.idsPerCall);

/** A board with its first pictures, or a saved search. */
export const createBoardSchema = z.union([
  z.strictObject({ name, imageIds: imageIds.optional() }),
  z.strictObject({ name, search }),
]);

export const changeBoardSchema = z.strictObject({ name: name.optional(), search: search.optional() });

export const orderBoardsSchema = z.strictObject({ ids: z.array(z.uuid()).min(1).max(limits.ofOwner) });

export const boardPicturesSchema = z.strictObject({ imageIds: imageIds.min(1) });

interface CreateBoardInput {
  readonly ownerId: string;
  readonly name: string;
  /** Makes it a saved search, which takes no pictures. */
  readonly search?: string | undefined;
  readonly imageIds?: readonly string[] | undefined;
}

/**
 * Makes a board with pictures, or a saved search. Throws `bad_request` for a name that cannot be, a
 * search that cannot be read, and when there are too many.
 */
export async function createBoard(
  services: Pick<Services, "db">,
  { ownerId, ...wanted }: CreateBoardInput,
): Promise<BoardView> {
  const { name, key } = cleanBoardName(wanted.name);
  const { search = null, imageIds: first = [] } = wanted;
  if (search !== null) checkSearch(search);
  if (search !== null && first.length > 0) throw notOnSearch();
  const id = newId();
  await services.db.transaction(async (tx) => {
    await lockBoardNames(tx, [ownerId]);
    await requireRoom(tx, ownerId);
    await requireFree(tx, { ownerId, id, key, isSearch: search !== null });
    await tx.insert(boards).values({ id, ownerId, name, key, search });
    await putOn(tx, { ownerId, id, imageIds: first });
  });
  return getBoard(services, { ownerId, id });
}

/** Throws `bad_request` where one more would be too many. The caller holds the lock of the owner's names. */
async function requireRoom(tx: Tx, ownerId: string): Promise<void> {
  const held = await tx.$count(boards, and(eq(boards.ownerId, ownerId), isNull(boards.removedAt)));
  if (held >= limits.ofOwner)
    throw new AppError("bad_request", `You can have ${limits.ofOwner} boards and saved searches.`);
}

/** The caller holds the lock of the owner's names. */
async function requireFree(tx: Tx, named: Parameters<typeof lockNamesakes>[1]): Promise<void> {
  if ((await lockNamesakes(tx, named)).length === 0) return;
  throw new AppError("conflict", named.isSearch ? "A saved search has this name." : "A board has this name.");
}

interface ChangeBoardInput extends z.output<typeof changeBoardSchema>, OwnBoard {}

/** Gives a board another name, or a saved search another search. Throws `not_found`, `bad_request`. */
export async function changeBoard(
  services: Pick<Services, "db">,
  { name: text, search, ...address }: ChangeBoardInput,
): Promise<BoardView> {
  if (search !== undefined) checkSearch(search);
  await services.db.transaction(async (tx) => {
    await lockBoardNames(tx, [address.ownerId]);
    const board = await lockBoard(tx, address);
    if (search !== undefined && board.search === null)
      throw new AppError("bad_request", "A board with pictures takes no search.");
    const named = text === undefined ? undefined : cleanBoardName(text);
    if (named) await requireFree(tx, { ...address, key: named.key, isSearch: board.search !== null });
    // The id changes nothing: it keeps the statement whole when there is nothing else.
    await tx
      .update(boards)
      .set({ id: address.id, ...named, search })
      .where(own(address));
  });
  return getBoard(services, address);
}

interface OrderInput extends z.output<typeof orderBoardsSchema> {
  readonly ownerId: string;
}

/** Own boards and saved searches stand in this order; those that are not named keep their place behind it. Ignores foreign ones. */
export async function orderBoards({ db }: Pick<Services, "db">, { ownerId, ids }: OrderInput): Promise<void> {
  const place = sql`array_position(${sql.param([...new Set(ids)])}::uuid[], ${boards.id})`;
  await db
    .update(boards)
    .set({ place })
    .where(and(eq(boards.ownerId, ownerId), inArray(boards.id, ids)));
}

async function lockBoard(tx: Tx, address: OwnBoard): Promise<typeof boards.$inferSelect> {
  return lock(tx, own(address));
}

async function lock(tx: Tx, which: SQL | undefined): Promise<typeof boards.$inferSelect> {
  const [board] = await tx.select().from(boards).where(which).for("update");
  if (!board) throw new AppError("not_found");
  return board;
}

/** Removes a board; its pictures stay. `restoreBoard` takes it back for a while. Throws `not_found`. */
export async function removeBoard({ db }: Pick<Services, "db">, address: OwnBoard): Promise<void> {
  await db.transaction(async (tx) => {
    const [removed] = await tx
      .update(boards)
      .set({ removedAt: sql`now()` })
      .where(own(address))
      .returning({ isShared });
    if (!removed) throw new AppError("not_found");
    if (removed.isShared)
      await recordAct(tx, { kind: "board.removed", by: address.ownerId, object: address.id });
  });
}

/** Whether others see the board: it ends for them, too. */
const isShared = sql<boolean>`(exists (select from board_members m where m.board_id = boards.id)
  or exists (select from links l where l.board_id = boards.id and l.revoked_at is null))`;

/** Takes a removal back within `config.retention.undoDeleteMs`, with a number behind a name that is taken by now. Throws `not_found`, `bad_request` when there are too many. */
export async function restoreBoard(
  services: Pick<Services, "db" | "config">,
  { ownerId, id }: OwnBoard,
): Promise<BoardView> {
  const { undoDeleteMs } = services.config.retention;
  const isRecent = sql`${boards.removedAt} > ${ago(undoDeleteMs)}`;
  if (isId(id))
    await services.db.transaction(async (tx) => {
      await lockBoardNames(tx, [ownerId]);
      const which = and(eq(boards.id, id), eq(boards.ownerId, ownerId), isRecent);
      const [removed] = await tx.select().from(boards).where(which).for("update");
      if (!removed) return;
      await requireRoom(tx, ownerId);
      const [restored] = await tx
        .update(boards)
        .set({ removedAt: null, ...(await freeBoardName(tx, removed)) })
        .where(eq(boards.id, id))
        .returning({ isShared });
      if (restored?.isShared) await recordAct(tx, { kind: "board.restored", by: ownerId, object: id });
    });
  return getBoard(services, { ownerId, id });
}

interface PicturesInput {
  readonly userId: string;
  readonly id: string;
  readonly imageIds: readonly string[];
}

function notOnSearch(): AppError {
  return new AppError("bad_request", "A saved search shows what it finds; no pictures are put on it.");
}

/**
 * Puts the user's pictures on an own board, or on one shared with the right to add; returns the ids that were not there, and
 * ignores foreign ones. Throws `not_found`, `bad_request`.
 */
export async function addToBoard(
  { db }: Pick<Services, "db">,
  { userId, id, imageIds: wanted }: PicturesInput,
): Promise<string[]> {
  return db.transaction(async (tx) => {
    // Locked, so that no removal of the board comes between the look and the pictures.
    const toAdd = { userId, id, right: "add" } as const;
    const board = await lock(tx, isBoardOf(toAdd));
    // Asked again once it is locked: the sharing may have ended while this waited for the lock.
    await requireBoardOf(tx, toAdd);
    if (board.search !== null) throw notOnSearch();
    return putOn(tx, { ownerId: userId, id, imageIds: wanted });
  });
}

async function putOn(
  tx: Tx,
  { ownerId, id, imageIds: wanted }: OwnBoard & Pick<PicturesInput, "imageIds">,
): Promise<string[]> {
  if (wanted.length === 0) return [];
  const added = await tx.execute<{ id: string }>(sql`
    insert into ${boardImages} (board_id, image_id)
    select ${id}::uuid, ${images.id} from ${images}
    where ${inArray(images.id, wanted.filter(isId))} and ${images.ownerId} = ${ownerId}
      and ${images.deletedAt} is null and ${images.role} <> 'mask'
    on conflict do nothing returning image_id as id`);
  return added.map(({ id: added }) => added);
}

/**
 * Takes pictures off: any of an own board, one's own of a shared one, and what they were turned from, which others would see again;
 * returns the ids that were there. Throws `not_found`.
 */
export async function takeFromBoard(
  { db }: Pick<Services, "db">,
  { userId, id, imageIds: wanted }: PicturesInput,
): Promise<string[]> {
  const ownerId = await requireBoardOf(db, { userId, id });
  const ofUser = sql`${boardImages.imageId} in (select ${images.id} from ${images} where ${images.ownerId} = ${userId})`;
  const taken = await db
    .delete(boardImages)
    .where(
      and(
        eq(boardImages.boardId, id),
        sql`${boardImages.imageId} in (${withTurned(id, wanted.filter(isId))})`,
        ownerId === userId ? undefined : ofUser,
      ),
    )
    .returning({ id: boardImages.imageId });
  return taken.map(({ id: taken }) => taken);
}

/** A duty: removes boards whose time for undo is over. Returns how many are gone. */
export async function purgeBoards({ db, config }: Pick<Services, "db" | "config">): Promise<number> {
  const gone = await db
    .delete(boards)
    .where(sql`${boards.removedAt} < ${ago(config.retention.undoDeleteMs)}`)
    .returning({ id: boards.id });
  return gone.length;
}
