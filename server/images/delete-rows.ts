import { and, eq, inArray, isNotNull, not, notExists, or, sql } from "drizzle-orm";
import { schema, type Tx } from "../db/index.ts";

const { images, jobInputs, jobOutputs } = schema;

/** Locks those rows in the order of their ids and gives back the ids that are there. */
export async function lockRows(tx: Tx, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return [];
  const locked = await tx
    .select({ id: images.id })
    .from(images)
    .where(inArray(images.id, [...ids]))
    .orderBy(images.id)
    .for("update");
  return locked.map(({ id }) => id);
}

/**
 * Deletes the rows of those pictures that no job has as input or result and that nobody keeps with a star, and returns
 * the key prefixes of their objects, which the caller removes after the commit with `discardObjects`.
 */
export async function deleteUnusedRows(tx: Tx, ids: readonly string[]): Promise<string[]> {
  // Locked in a statement of its own: a submit that refers to the picture at this moment (FOR KEY SHARE) is either
  // seen by the delete below or waits for us and then finds the picture gone.
  const lockedIds = await lockRows(tx, ids);
  if (lockedIds.length === 0) return [];
  const linksIn = (links: typeof jobInputs | typeof jobOutputs) =>
    tx
      .select({ one: sql`1` })
      .from(links)
      .where(eq(links.imageId, images.id));
  const deleted = await tx
    .delete(images)
    .where(
      and(
        inArray(images.id, lockedIds),
        notExists(linksIn(jobInputs)),
        notExists(linksIn(jobOutputs)),
        or(not(images.starred), isNotNull(images.deletedAt)),
      ),
    )
    .returning({ storageKey: images.storageKey });
  return deleted.map(({ storageKey }) => storageKey);
}
