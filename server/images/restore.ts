import { and, eq, gt, notExists, sql } from "drizzle-orm";
import { alias } from "drizzle-orm/pg-core";
import { schema, type Tx } from "../db/index.ts";
import { isId } from "../platform/index.ts";
import type { Services } from "../services/index.ts";
import { lockUploadsOf } from "./guest-limit.ts";
import type { OwnImagesInput } from "./remove.ts";

const { images } = schema;

/**
 * Takes back the deletion of own pictures within `config.retention.undoDeleteMs`; returns the ids that are back. One
 * whose bytes were uploaded anew in the meantime stays deleted: its twin is there.
 */
export async function restoreImages(
  services: Pick<Services, "db" | "config">,
  { ownerId, ids }: OwnImagesInput,
): Promise<string[]> {
  const { undoDeleteMs } = services.config.retention;
  return services.db.transaction(async (tx) => {
    // Uploads of this owner wait, so that no twin can appear between the check below and the commit.
    await lockUploadsOf(tx, ownerId);
    const restored: string[] = [];
    for (const id of new Set(ids.filter(isId))) {
      if (await restoreOne(tx, { ownerId, id, undoDeleteMs })) restored.push(id);
    }
    return restored;
  });
}

interface RestoreOneInput {
  readonly ownerId: string;
  readonly id: string;
  readonly undoDeleteMs: number;
}

async function restoreOne(tx: Tx, { ownerId, id, undoDeleteMs }: RestoreOneInput): Promise<boolean> {
  const twin = alias(images, "twin");
  const liveTwin = tx
    .select({ one: sql`1` })
    .from(twin)
    .where(
      sql`${twin.ownerId} = ${images.ownerId} and ${twin.role} = ${images.role}
        and ${twin.uploadSha256} = ${images.uploadSha256} and ${twin.deletedAt} is null`,
    );
  const restored = await tx
    .update(images)
    .set({ deletedAt: null })
    .where(
      and(
        eq(images.id, id),
        eq(images.ownerId, ownerId),
        gt(images.deletedAt, sql`now() - ${undoDeleteMs} * interval '1 millisecond'`),
        notExists(liveTwin),
      ),
    )
    .returning({ id: images.id });
  return restored.length > 0;
}
