import { and, eq, inArray, isNull, sql } from "drizzle-orm";
import { schema } from "../db/index.ts";
import { isId } from "../platform/index.ts";
import type { Services } from "../services/index.ts";

export interface OwnImagesInput {
  readonly ownerId: string;
  readonly ids: readonly string[];
}

/** Deletes own pictures so that they can still be restored; returns the ids that were there. Others are passed over. */
export async function removeImages(
  services: Pick<Services, "db">,
  { ownerId, ids }: OwnImagesInput,
): Promise<string[]> {
  const { images } = schema;
  const removed = await services.db
    .update(images)
    .set({ deletedAt: sql`now()` })
    .where(and(inArray(images.id, ids.filter(isId)), eq(images.ownerId, ownerId), isNull(images.deletedAt)))
    .returning({ id: images.id });
  return removed.map(({ id }) => id);
}
