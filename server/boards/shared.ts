import { and, eq, sql, type SQL } from "drizzle-orm";
import { z } from "zod";
import { suspendedUsers } from "../accounts/plain.ts";
import { type Db, latestFirst, schema, toPage } from "../db/index.ts";
import {
  type AiFacts,
  copyPicture,
  isAiPicture,
  type OpenedFile,
  openFile,
  type Variant,
} from "../images/index.ts";
import { AppError, isId } from "../platform/index.ts";
import type { Services } from "../services.ts";
import {
  type BoardAddress,
  type BoardRight,
  isBoardOf,
  isNotTurnedOn,
  isSharedWith,
  requireBoardOf,
} from "./access.ts";

const { boardImages, boardMembers, boards, images, users } = schema;

const coversOfBoard = 4;

/** A board as everybody sees it who may open it: with the pictures of all. */
export interface SharedBoard {
  readonly id: string;
  readonly name: string;
  /** The name of its owner. */
  readonly ownerName: string;
  readonly right: "own" | BoardRight;
  readonly pictures: number;
  /** Those that came last, at most four. */
  readonly coverIds: readonly string[];
  /** How many of the pictures that were asked about are on it. */
  readonly held: number;
}

/** Pictures on a board that are seen: neither deleted nor of a suspended user, and not before they were turned. */
const seen = sql`from ${boardImages} join ${images} on ${images.id} = ${boardImages.imageId}
  where ${boardImages.boardId} = ${boards.id} and ${images.deletedAt} is null
    and ${images.ownerId} not in (${suspendedUsers}) and ${isNotTurnedOn(boards.id, images.id)}`;

interface ReadInput {
  readonly userId: string;
  readonly which: SQL | undefined;
  readonly asked?: readonly string[] | undefined;
}

async function read(db: Db, { userId, which, asked = [] }: ReadInput): Promise<SharedBoard[]> {
  const held = sql`(select count(*)::int ${seen} and ${images.id} in ${[...asked, null]})`;
  const rows = await db
    .select({
      id: boards.id,
      name: boards.name,
      ownerName: users.name,
      isOwn: sql<boolean>`${boards.ownerId} = ${userId}`,
      right: boardMembers.right,
      pictures: sql<number>`(select count(*)::int ${seen})`,
      coverIds: sql<string[]>`array(select ${images.id} ${seen}
        order by ${sql.join(pages.order, sql`, `)} limit ${coversOfBoard})`,
      held: asked.length === 0 ? sql<number>`0` : sql<number>`${held}`,
    })
    .from(boards)
    .innerJoin(users, eq(users.id, boards.ownerId))
    .leftJoin(boardMembers, and(eq(boardMembers.boardId, boards.id), eq(boardMembers.userId, userId)))
    .where(and(which, sql`${boards.search} is null`))
    .orderBy(boards.key, boards.id);
  return rows.map(({ isOwn, right, ...board }) => ({ ...board, right: isOwn ? "own" : (right ?? "see") }));
}

interface ListInput {
  readonly userId: string;
  /** Pictures of the user of which each board says how many it holds. */
  readonly imageIds?: readonly string[] | undefined;
}

/** The boards that others share with the user, by the alphabet. */
export function listSharedBoards(
  { db }: Pick<Services, "db">,
  { userId, imageIds }: ListInput,
): Promise<SharedBoard[]> {
  return read(db, { userId, which: isSharedWith(userId), asked: imageIds?.filter(isId) });
}

/** An own board, or one that is shared with the user. Throws `not_found`. */
export async function getSharedBoard(
  { db }: Pick<Services, "db">,
  address: BoardAddress,
): Promise<SharedBoard> {
  const [board] = await read(db, { userId: address.userId, which: isBoardOf(address) });
  if (!board) throw new AppError("not_found");
  return board;
}

export interface SharedPicture {
  readonly id: string;
  readonly widthPx: number;
  readonly heightPx: number;
  /** Base64. */
  readonly thumbhash: string;
  readonly title: string;
  readonly isAi: boolean;
  /** Who put it there. */
  readonly ownerName: string;
  readonly isOwn: boolean;
}

export interface SharedPage {
  readonly items: readonly SharedPicture[];
  readonly nextCursor: string | null;
}

export const sharedPicturesSchema = z.strictObject({
  id: z.uuid(),
  cursor: z.string().max(100).meta({ format: "cursor" }).optional(),
  limit: z.int().min(1).max(100).default(60),
});

interface PicturesInput extends z.output<typeof sharedPicturesSchema> {
  readonly userId: string;
}

const pages = latestFirst(boardImages.addedAt, boardImages.imageId);

interface PictureRow extends Record<string, unknown>, AiFacts, Omit<SharedPicture, "isAi" | "isOwn"> {
  readonly ownerId: string;
  readonly cursor: string;
}

/** The pictures of a board that the user may see, those that came last first. Throws `not_found`, `bad_request`. */
export async function listSharedPictures(
  { db }: Pick<Services, "db">,
  { userId, id, cursor, limit }: PicturesInput,
): Promise<SharedPage> {
  const after = cursor === undefined ? sql`` : sql`and ${pages.isBehind(cursor)}`;
  await requireBoardOf(db, { userId, id });
  const rows = await db.execute<PictureRow>(sql`
    select ${images.id}, ${images.widthPx} as "widthPx", ${images.heightPx} as "heightPx", ${images.thumbhash},
      ${images.title}, ${images.role}, ${images.jobId} as "jobId", ${images.copyOfAi} as "copyOfAi",
      ${images.nothingGenerated} as "nothingGenerated",
      ${images.ownerId} as "ownerId", ${users.name} as "ownerName", ${pages.cursor} as cursor
    from ${boards} join ${boardImages} on ${boardImages.boardId} = ${boards.id}
      join ${images} on ${images.id} = ${boardImages.imageId} join ${users} on ${users.id} = ${images.ownerId}
    where ${boards.id} = ${id} and ${images.deletedAt} is null and ${images.ownerId} not in (${suspendedUsers})
      and ${isNotTurnedOn(sql`${id}::uuid`, images.id)} ${after}
    order by ${sql.join(pages.order, sql`, `)} limit ${limit + 1}`);
  const { items: shown, nextCursor } = toPage(rows, limit, "cursor");
  return { items: shown.map((row) => toPicture(row, userId)), nextCursor };
}

function toPicture({ ownerId, ...row }: PictureRow, userId: string): SharedPicture {
  const { id, widthPx, heightPx, thumbhash, title, ownerName } = row;
  const isOwn = ownerId === userId;
  return { id, widthPx, heightPx, thumbhash, title, isAi: isAiPicture(row), ownerName, isOwn };
}

/** A picture on a board that the user may see. Throws `not_found`. */
async function findSeen(db: Db, { userId, id, imageId }: BoardAddress & { readonly imageId: string }) {
  if (!isId(imageId)) throw new AppError("not_found");
  const [board] = await db
    .select({ imageId: sql<string | null>`(select ${images.id} ${seen} and ${images.id} = ${imageId})` })
    .from(boards)
    .where(isBoardOf({ userId, id }));
  const [image] = board?.imageId ? await db.select().from(images).where(eq(images.id, imageId)) : [];
  if (!image) throw new AppError("not_found");
  return image;
}

/**
 * Puts a copy of a picture on a board into the user's own gallery, which stays when the sharing ends. `created` is false for one that is
 * there already, also the user's own. Throws `not_found`, `storage_quota`.
 */
export async function copyFromBoard(
  services: Pick<Services, "config" | "db" | "disk" | "env" | "log">,
  address: BoardAddress & { readonly imageId: string },
): Promise<{ readonly id: string; readonly created: boolean }> {
  const source = await findSeen(services.db, address);
  if (source.ownerId === address.userId) return { id: source.id, created: false };
  const { id, created } = await copyPicture(services, { source, ownerId: address.userId });
  return { id, created };
}

interface FileInput extends BoardAddress {
  readonly imageId: string;
  readonly variant: Variant;
  readonly download?: boolean;
  readonly ifNoneMatch?: string | null;
  readonly isHead?: boolean;
}

/** A file of a picture on a board, never by a link to the store, which would work on after the sharing ends. Throws `not_found`. */
export async function openSharedPicture(
  services: Pick<Services, "db" | "disk" | "log" | "env">,
  { userId, id, imageId, ...input }: FileInput,
): Promise<OpenedFile> {
  const { ownerId } = await findSeen(services.db, { userId, id, imageId });
  return openFile(services, { ...input, ownerId, id: imageId });
}
