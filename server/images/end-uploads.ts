import { and, eq, isNull, lt, sql } from "drizzle-orm";
import { ago, schema } from "../db/index.ts";
import { AppError } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { removePrefix } from "../storage/index.ts";
import { findOwn, incomingKey, incomingPrefix, type OwnUpload } from "./direct-upload.ts";
import { directUploadMs } from "./limits.ts";
import { discardObjects } from "./outputs.ts";

const { directUploads } = schema;

/**
 * Ends an upload that will not be sent or finished, with its file. Only the bytes of one with a signed link count until the
 * link expires. Throws `not_found`, and `conflict` for one that became a picture.
 */
export async function giveUpUpload(
  services: Pick<Services, "db" | "disk" | "log">,
  own: OwnUpload,
): Promise<void> {
  const { db, disk } = services;
  const row = await findOwn(services, own);
  const { mime, sizeBytes, sha256 } = row;
  const isLinked = (await disk.driver.signPut(incomingKey(row), { mime, sizeBytes, sha256 })) !== null;
  const stillBegun = and(eq(directUploads.id, row.id), isNull(directUploads.imageId));
  const givenUpAt = sql`clock_timestamp()`;
  const gone = isLinked
    ? await db.update(directUploads).set({ givenUpAt }).where(stillBegun).returning()
    : await db.delete(directUploads).where(stillBegun).returning();
  if (gone.length === 0)
    throw new AppError("conflict", "This upload is finished. Delete the picture instead.");
  await discardObjects(services, [incomingPrefix(row)]);
}

/** Removes the begun uploads of a user who is being deleted, files first. Ends early when the signal aborts. Throws `storage_unavailable`. */
export async function removeUploadsOf(
  { db, disk }: Pick<Services, "db" | "disk">,
  ownerId: string,
  signal: AbortSignal,
): Promise<void> {
  const own = await db
    .select({ id: directUploads.id })
    .from(directUploads)
    .where(eq(directUploads.ownerId, ownerId));
  for (const upload of own) {
    if (signal.aborted) return;
    await removePrefix(disk, incomingPrefix(upload));
    await db.delete(directUploads).where(eq(directUploads.id, upload.id));
  }
}

/** Removes uploads that were begun more than an hour ago, with their files. */
export async function expireUploads(services: Pick<Services, "db" | "disk" | "log">): Promise<void> {
  const rows = await services.db
    .delete(directUploads)
    .where(lt(directUploads.createdAt, ago(directUploadMs)))
    .returning({ id: directUploads.id });
  await discardObjects(services, rows.map(incomingPrefix));
}
