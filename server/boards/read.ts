import { and, asc, eq, inArray, isNotNull, isNull, type SQL, sql } from "drizzle-orm";
import { type Db, schema } from "../db/index.ts";
import { AppError, isId } from "../platform/index.ts";
import type { Services } from "../services.ts";

const { boardImages, boardMembers, boards, images } = schema;

const covers = 4;

export interface BoardView {
  readonly id: string;
  readonly name: string;
  /** Null for a board with pictures of its own. */
  readonly search: string | null;
  /** How many of the owner's pictures are on it; null for a saved search. */
  readonly pictures: number | null;
  /** With how many users it is shared. */
  readonly members: number;
  /** Those of the owner's pictures that came last, at most four. */
  readonly coverIds: readonly string[];
  /** How many of the pictures that were asked about are on it. */
  readonly held: number;
  /** ISO 8601, UTC. */
  readonly createdAt: string;
}

export interface OwnBoard {
  readonly ownerId: string;
  readonly id: string;
}

interface ListBoardsInput {
  readonly ownerId: string;
  /** Own pictures of which each board says how many it holds. */
  readonly imageIds?: readonly string[] | undefined;
}

/** The boards and saved searches of an owner, in their order, those without a place behind the others by the alphabet. */
export async function listBoards(
  { db }: Pick<Services, "db">,
  { ownerId, imageIds: asked = [] }: ListBoardsInput,
): Promise<BoardView[]> {
  return readBoards(db, { ownerId, which: eq(boards.ownerId, ownerId), asked });
}

/** Throws `not_found`. */
export async function getBoard({ db }: Pick<Services, "db">, address: OwnBoard): Promise<BoardView> {
  const [board] = await readBoards(db, { ownerId: address.ownerId, which: own(address), asked: [] });
  if (!board) throw new AppError("not_found");
  return board;
}

interface ReadBoards {
  readonly ownerId: string;
  readonly which: SQL | undefined;
  readonly asked: readonly string[];
}

async function readBoards(db: Db, { ownerId, which, asked }: ReadBoards): Promise<BoardView[]> {
  const live = sql`from ${boardImages} join ${images} on ${images.id} = ${boardImages.imageId}
    where ${boardImages.boardId} = ${boards.id} and ${images.ownerId} = ${boards.ownerId}
      and ${images.deletedAt} is null`;
  const trashed = db
    .select({ boardId: boardImages.boardId, pictures: sql<number>`count(*)::int`.as("pictures") })
    .from(images)
    .innerJoin(boardImages, eq(boardImages.imageId, images.id))
    .where(and(eq(images.ownerId, ownerId), isNotNull(images.deletedAt)))
    .groupBy(boardImages.boardId)
    .as("trashed");
  const members = sql<number>`(select count(*)::int from ${boardMembers} where ${boardMembers.boardId} = ${boards.id})`;
  // A board without members has its owner's pictures alone: the index has how many, and few are in the trash.
  const all = sql`(select count(*)::int from ${boardImages} where ${boardImages.boardId} = ${boards.id})`;
  const rows = await db
    .select({
      board: boards,
      pictures: sql<number>`case when ${members} = 0 then ${all} - coalesce(${trashed.pictures}, 0)
        else (select count(*)::int ${live}) end`,
      members,
      coverIds: sql<string[]>`array(select ${images.id} ${live}
        order by ${boardImages.addedAt} desc, ${boardImages.imageId} desc limit ${covers})`,
      held:
        asked.length === 0
          ? sql<number>`0`
          : sql<number>`(select count(*)::int ${live} and ${inArray(images.id, asked.filter(isId))})`,
    })
    .from(boards)
    .leftJoin(trashed, eq(trashed.boardId, boards.id))
    .where(and(which, isNull(boards.removedAt)))
    .orderBy(sql`${boards.place} nulls last`, asc(boards.key), asc(boards.id));
  return rows.map(({ board, pictures, members, coverIds, held }) => ({
    id: board.id,
    name: board.name,
    search: board.search,
    pictures: board.search === null ? pictures : null,
    members,
    coverIds,
    held,
    createdAt: board.createdAt.toISOString(),
  }));
}

/** This board of this owner, not removed. Throws `not_found` for a malformed id. */
export function own({ ownerId, id }: OwnBoard): SQL | undefined {
  if (!isId(id)) throw new AppError("not_found");
  return and(eq(boards.id, id), eq(boards.ownerId, ownerId), isNull(boards.removedAt));
}
