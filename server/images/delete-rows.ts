import { and, eq, inArray, notExists, sql } from "drizzle-orm";
import { schema, type Tx } from "../db/index.ts";

const { images, jobInputs } = schema;

/**
 * Deletes the rows of those pictures that no job has as input, and returns the key prefixes of their objects, which
 * the caller removes after the commit with `discardObjects`.
 */
export async function deleteUnusedRows(tx: Tx, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return [];
  // Locked in a statement of its own: a submit that refers to the picture at this moment (FOR KEY SHARE) is either
  // seen by the delete below or waits for us and then finds the picture gone.
  const locked = await tx
    .select({ id: images.id })
    .from(images)
    .where(inArray(images.id, [...ids]))
    .orderBy(images.id)
    .for("update");
  const lockedIds = locked.map(({ id }) => id);
  if (lockedIds.length === 0) return [];
  const used = tx
    .select({ one: sql`1` })
    .from(jobInputs)
    .where(eq(jobInputs.imageId, images.id));
  const deleted = await tx
    .delete(images)
    .where(and(inArray(images.id, lockedIds), notExists(used)))
    .returning({ storageKey: images.storageKey });
  return deleted.map(({ storageKey }) => storageKey);
}
