import { and, eq, isNull, sql } from "drizzle-orm";
import { z } from "zod";
import { takePermitOf } from "../accounts/plain.ts";
import { recordAct } from "../audit/index.ts";
import { schema, type Tx } from "../db/index.ts";
import { AppError, isId } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { type BoardAddress, type BoardRight, boardRights } from "./access.ts";

const { boardImages, boardMembers, boards, images, users } = schema;

const maxMembers = 50;

export const boardMemberSchema = z.strictObject({
  email: z.email().max(254),
  right: z.enum(boardRights).default("see"),
});

export interface BoardMember {
  readonly userId: string;
  readonly name: string;
  readonly email: string;
  readonly right: BoardRight;
}

interface OwnBoard {
  readonly ownerId: string;
  readonly id: string;
}

/** Throws `not_found`, `bad_request` for a saved search. */
function requireShareable(board: { readonly search: string | null } | undefined): void {
  if (!board) throw new AppError("not_found");
  if (board.search !== null) throw new AppError("bad_request", "A saved search is not shared.");
}

function selectOwn(tx: Pick<Tx, "select">, { ownerId, id }: OwnBoard) {
  if (!isId(id)) throw new AppError("not_found");
  return tx
    .select({ search: boards.search })
    .from(boards)
    .where(and(eq(boards.id, id), eq(boards.ownerId, ownerId), isNull(boards.removedAt)));
}

/** Locks the board, so that none of two changes at once is above the limit. */
async function lockOwn(tx: Pick<Tx, "select">, address: OwnBoard): Promise<void> {
  const [board] = await selectOwn(tx, address).for("update");
  requireShareable(board);
}

/** The users with whom a board is shared, by their names. Throws `not_found`, also for a board of somebody else. */
export async function listBoardMembers(
  { db }: Pick<Services, "db">,
  address: OwnBoard,
): Promise<BoardMember[]> {
  const [board] = await selectOwn(db, address);
  requireShareable(board);
  return readMembers(db, address.id);
}

async function readMembers(tx: Pick<Tx, "select">, boardId: string): Promise<BoardMember[]> {
  return tx
    .select({ userId: users.id, name: users.name, email: users.email, right: boardMembers.right })
    .from(boardMembers)
    .innerJoin(users, eq(users.id, boardMembers.userId))
    .where(eq(boardMembers.boardId, boardId))
    .orderBy(users.name, users.id);
}

/**
 * Shares a board with the account of this address, or changes what it may do. Throws `not_found`, `account_unknown`,
 * `bad_request` for the owner's own address and above 50 members, and `rate_limited`: each try tells whether an address has an
 * account here.
 */
export async function shareBoard(
  services: Services,
  { email, right, ...address }: OwnBoard & z.output<typeof boardMemberSchema>,
): Promise<BoardMember[]> {
  if (!(await takePermitOf(services, "boardShares", address.ownerId))) throw new AppError("rate_limited");
  return services.db.transaction(async (tx) => {
    await lockOwn(tx, address);
    const [user] = await tx
      .select({ id: users.id })
      .from(users)
      .where(
        sql`${users.email} = ${email.toLowerCase()} and not coalesce(${users.isAnonymous}, false)
          and ${users.deletedAt} is null and ${users.role} is distinct from 'service'`,
      );
    if (!user) throw new AppError("account_unknown");
    if (user.id === address.ownerId) throw new AppError("bad_request", "This board is yours already.");
    await tx
      .insert(boardMembers)
      .values({ boardId: address.id, userId: user.id, right })
      .onConflictDoUpdate({ target: [boardMembers.boardId, boardMembers.userId], set: { right } });
    const members = await readMembers(tx, address.id);
    if (members.length > maxMembers)
      throw new AppError("bad_request", `A board is shared with ${maxMembers} users at most.`);
    const { ownerId: by, id: object } = address;
    await recordAct(tx, { kind: "board.shared", by, to: user.id, object, details: { right } });
    return members;
  });
}

/** Ends the sharing with one user at once; the pictures that they put on the board go with them. Throws `not_found`. */
export async function unshareBoard(
  { db }: Pick<Services, "db">,
  { userId, ...address }: OwnBoard & { readonly userId: string },
): Promise<BoardMember[]> {
  return db.transaction(async (tx) => {
    await lockOwn(tx, address);
    if (await removeMember(tx, { userId, id: address.id }))
      await recordAct(tx, { kind: "board.unshared", by: address.ownerId, to: userId, object: address.id });
    return readMembers(tx, address.id);
  });
}

/** The user leaves a board that is shared with them, with the pictures that they put on it. Throws `not_found`. */
export async function leaveBoard({ db }: Pick<Services, "db">, address: BoardAddress): Promise<void> {
  if (!isId(address.id)) throw new AppError("not_found");
  await db.transaction(async (tx) => {
    // A picture that is being put there comes before, and goes, or after, and is refused.
    await tx.select({ id: boards.id }).from(boards).where(eq(boards.id, address.id)).for("update");
    if (!(await removeMember(tx, address))) throw new AppError("not_found");
    await recordAct(tx, { kind: "board.unshared", by: address.userId, object: address.id });
  });
}

/** Whether the user was a member. */
async function removeMember(tx: Tx, { userId, id }: BoardAddress): Promise<boolean> {
  const gone = await tx
    .delete(boardMembers)
    .where(and(eq(boardMembers.boardId, id), eq(boardMembers.userId, userId)))
    .returning({ userId: boardMembers.userId });
  if (gone.length === 0) return false;
  await tx.execute(sql`
    delete from ${boardImages} where board_id = ${id}
      and image_id in (select ${images.id} from ${images} where ${images.ownerId} = ${userId})`);
  return true;
}
