/** Names of boards, for whoever gives one: `board:` of a search must mean one board, and one saved search. */
import { and, asc, eq, inArray, isNull, ne, sql } from "drizzle-orm";
import { lockTopic, schema, type Tx } from "./db/index.ts";
import { cleanName, spellingsOf } from "./images/index.ts";

const { boards } = schema;

/** In characters. */
export const maxBoardName = 60;

/** Throws `bad_request` for a name that cannot be. */
export const cleanBoardName = (text: string) => cleanName(text, maxBoardName);

/** Keeps other names out until the transaction ends. Owners are locked in one order, so that two callers do not wait for each other. */
export async function lockBoardNames(tx: Tx, ownerIds: readonly string[]): Promise<void> {
  for (const ownerId of ownerIds.toSorted()) await lockTopic(tx, "boards", ownerId);
}

interface Named {
  readonly ownerId: string;
  /** The board that has or gets the name. */
  readonly id: string;
  readonly key: string;
  readonly isSearch: boolean;
}

/**
 * The owner's other boards of a name, or saved searches, whichever apostrophe it is written with; the oldest first, each locked. The
 * caller holds the lock of the owner's names.
 */
export async function lockNamesakes(tx: Tx, { ownerId, id, key, isSearch }: Named) {
  const isSame = isSearch ? sql`${boards.search} is not null` : isNull(boards.search);
  const hasName = and(eq(boards.ownerId, ownerId), inArray(boards.key, spellingsOf(key)));
  return tx
    .select()
    .from(boards)
    .where(and(hasName, ne(boards.id, id), isNull(boards.removedAt), isSame))
    .orderBy(asc(boards.createdAt), asc(boards.id))
    .for("update");
}

/** The name of a board, with a number behind it where the owner has another of this name. The caller holds the lock of the owner's names. */
export async function freeBoardName(
  tx: Tx,
  { ownerId, id, name, search }: Pick<typeof boards.$inferSelect, "ownerId" | "id" | "name" | "search">,
) {
  for (let number = 1; ; number += 1) {
    const end = number === 1 ? "" : ` ${number}`;
    const start = Array.from(name).slice(0, maxBoardName - end.length);
    const tried = cleanBoardName(start.join("") + end);
    const others = await lockNamesakes(tx, { ownerId, id, key: tried.key, isSearch: search !== null });
    if (others.length === 0) return tried;
  }
}
