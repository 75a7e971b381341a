import { and, eq, isNull, or, type SQL, sql, type SQLWrapper } from "drizzle-orm";
import { suspendedUsers } from "../accounts/plain.ts";
import { type Db, schema, type Tx } from "../db/index.ts";
import { AppError, isId } from "../platform/index.ts";

const { boardMembers, boards } = schema;

/** What a member may do: look at the pictures, or put own ones beside them as well. */
export const boardRights = ["see", "add"] as const;
export type BoardRight = (typeof boardRights)[number];

export interface BoardAddress {
  readonly userId: string;
  readonly id: string;
}

/** Condition on `boards`: not removed, and shared with this user by an owner who is not suspended. `keep_places` in triggers.sql asks the same. */
export function isSharedWith(userId: string, right: BoardRight = "see"): SQL | undefined {
  const isEnough = right === "add" ? sql`and ${boardMembers.right} = 'add'` : sql``;
  const members = sql`select ${boardMembers.boardId} from ${boardMembers} where ${boardMembers.userId} = ${userId} ${isEnough}`;
  return and(
    sql`${boards.id} in (${members})`,
    isNull(boards.removedAt),
    sql`${boards.ownerId} not in (${suspendedUsers})`,
  );
}

/** Condition on `boards`: this one, not removed, the user's own or shared with the user. Throws `not_found` for a malformed id. */
export function isBoardOf({
  userId,
  id,
  right = "see",
}: BoardAddress & { readonly right?: BoardRight }): SQL | undefined {
  if (!isId(id)) throw new AppError("not_found");
  const isOwn = and(eq(boards.ownerId, userId), isNull(boards.removedAt));
  return and(eq(boards.id, id), or(isOwn, isSharedWith(userId, right)));
}

/**
 * SQL condition on a picture of a board: no turned version of it has its place there (`keep_places`), as others see it. One that was put
 * there by itself stands beside it. The id of the board is none of the same query level, so that the turned ones, which alone of
 * results have another time, are read once.
 */
export function isNotTurnedOn(boardId: SQLWrapper, imageId: SQLWrapper): SQL {
  return sql`${imageId} not in (select link.image_id from board_images there join images turned on turned.id = there.image_id
    join job_inputs link on link.job_id = turned.job_id and link.role = 'image'
    join board_images had on had.board_id = there.board_id and had.image_id = link.image_id and had.added_at = there.added_at
    where there.board_id = ${boardId} and turned.role = 'result' and turned.added_at is not null and turned.deleted_at is null
      and only_turns(link.job_id))`;
}

/** SQL query of these pictures and of those of a board whose places they have. */
export function withTurned(boardId: string, ids: readonly string[]): SQL {
  return sql`with recursive versions(id) as (
    select unnest(${sql.param(ids)}::uuid[])
    union select l.image_id from versions join images turned on turned.id = versions.id
      join job_inputs l on l.job_id = turned.job_id and l.role = 'image'
      join board_images there on there.board_id = ${boardId} and there.image_id = turned.id
      join board_images had on had.board_id = ${boardId} and had.image_id = l.image_id and had.added_at = there.added_at
      where only_turns(l.job_id)
  ) select id from versions`;
}

/** The owner of a board that the user may see, or add to. Throws `not_found`. */
export async function requireBoardOf(
  db: Pick<Db | Tx, "select">,
  address: BoardAddress & { readonly right?: BoardRight },
): Promise<string> {
  const [board] = await db.select({ ownerId: boards.ownerId }).from(boards).where(isBoardOf(address));
  if (!board) throw new AppError("not_found");
  return board.ownerId;
}
