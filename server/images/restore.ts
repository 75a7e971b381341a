import { and, eq, gt, inArray, notExists, sql } from "drizzle-orm";
import { alias } from "drizzle-orm/pg-core";
import { inTurn, schema, type Tx } from "../db/index.ts";
import { isId, type Config } from "../platform/index.ts";
import type { Services } from "../services/index.ts";
import { checkRestored, lockUploadsOf, uploadTurnOf } from "./quota.ts";
import type { OwnImagesInput } from "./remove.ts";

const { images } = schema;

/**
 * Takes back the deletion of own pictures within `config.retention.undoDeleteMs`; returns the ids that are back. One
 * whose bytes were uploaded again in the meantime stays deleted: its twin is there. Throws `quota_exceeded` when a guest
 * would have too many; all stay deleted then.
 */
export async function restoreImages(
  services: Pick<Services, "db" | "config">,
  { ownerId, ids }: OwnImagesInput,
): Promise<string[]> {
  const { config, db } = services;
  const wanted = [...new Set(ids.filter(isId))];
  if (wanted.length === 0) return [];
  return inTurn(uploadTurnOf(ownerId), () =>
    db.transaction(async (tx) => {
      // Uploads of this owner wait, so that no twin can appear between the check below and the commit.
      await lockUploadsOf(tx, ownerId);
      const restored = await restoreAll(tx, config, { ownerId, ids: wanted });
      if (restored.size > 0) await checkRestored(tx, config, ownerId);
      return wanted.filter((id) => restored.has(id));
    }),
  );
}

/** In one statement, which sees no row that it restores itself: of two deleted twins only the newer one may come back. */
async function restoreAll(
  tx: Tx,
  { retention }: Config,
  { ownerId, ids }: OwnImagesInput,
): Promise<ReadonlySet<string>> {
  const twin = alias(images, "twin");
  const otherTwin = tx
    .select({ one: sql`1` })
    .from(twin)
    .where(
      and(
        sql`${twin.ownerId} = ${images.ownerId} and ${twin.role} = ${images.role}
          and ${twin.uploadSha256} = ${images.uploadSha256}`,
        sql`(${twin.deletedAt} is null or (${twin.id} > ${images.id} and ${inArray(twin.id, [...ids])}
          and ${twin.deletedAt} > ${ago(retention.undoDeleteMs)}))`,
      ),
    );
  const restored = await tx
    .update(images)
    .set({ deletedAt: null })
    .where(
      and(
        inArray(images.id, [...ids]),
        eq(images.ownerId, ownerId),
        gt(images.deletedAt, ago(retention.undoDeleteMs)),
        notExists(otherTwin),
      ),
    )
    .returning({ id: images.id });
  return new Set(restored.map(({ id }) => id));
}

/** By the clock of the database, which also wrote the times compared with it. */
function ago(ms: number) {
  return sql`now() - ${ms} * interval '1 millisecond'`;
}
