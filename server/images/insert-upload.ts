import { and, eq, isNull } from "drizzle-orm";
import { inTurn, schema, type Db, type Tx } from "../db/index.ts";
import { AppError, type Config } from "../platform/index.ts";
import type { Services } from "../services/index.ts";
import { checkQuota, lockUploadsOf, uploadTurnOf } from "./quota.ts";
import type { IngestInput } from "./image.ts";
import type { ImageRow } from "./to-view.ts";

const { images } = schema;

export interface UploadRow extends Omit<
  typeof images.$inferInsert,
  "role" | "uploadSha256" | "createdAt" | "deletedAt"
> {
  readonly role: IngestInput["role"];
  readonly uploadSha256: string;
}

export type SameBytes = Pick<UploadRow, "ownerId" | "role" | "uploadSha256">;

/** The owner's picture of the same bytes in the same role, unless it was deleted. */
export async function findSameBytes(
  db: Db | Tx,
  { ownerId, role, uploadSha256 }: SameBytes,
): Promise<ImageRow | null> {
  const [row] = await db
    .select()
    .from(images)
    .where(
      and(
        eq(images.ownerId, ownerId),
        eq(images.role, role),
        eq(images.uploadSha256, uploadSha256),
        isNull(images.deletedAt),
      ),
    );
  return row ?? null;
}

export interface InsertedUpload {
  readonly row: ImageRow;
  readonly created: boolean;
}

/** Tries after which a picture that keeps being deleted and sent again is given up. */
const maxTries = 5;

/**
 * Inserts the row, or returns the one that another upload of the same bytes inserted first: the owner's lock and the
 * unique index decide that race. Throws `quota_exceeded` for guests, `storage_quota`.
 */
export async function insertUpload(
  services: Pick<Services, "db" | "config">,
  row: UploadRow,
): Promise<InsertedUpload> {
  for (let tries = 0; tries < maxTries; tries += 1) {
    const inserted = await inTurn(uploadTurnOf(row.ownerId), () =>
      services.db.transaction((tx) => insertOnce(tx, row, services.config)),
    );
    if (inserted) return inserted;
    // Somebody who does not take the lock (a guest becoming an account) was first: look again.
  }
  throw new AppError("conflict");
}

async function insertOnce(tx: Tx, row: UploadRow, config: Config): Promise<InsertedUpload | null> {
  await lockUploadsOf(tx, row.ownerId);
  const twin = await findSameBytes(tx, row);
  if (twin) return { row: twin, created: false };
  await checkQuota(tx, config, row);
  const [inserted] = await tx.insert(images).values(row).onConflictDoNothing().returning();
  return inserted ? { row: inserted, created: true } : null;
}
