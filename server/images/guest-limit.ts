import { and, count, eq, isNull, ne, sql } from "drizzle-orm";
import { schema, type Db, type Tx } from "../db/index.ts";
import { AppError, type Config } from "../platform/index.ts";
import type { IngestInput } from "./stored-image.ts";

const { images, users } = schema;

export interface GuestLimitInput {
  readonly ownerId: string;
  readonly role: IngestInput["role"];
  readonly limits: Config["limits"];
}

/** Throws `quota_exceeded` when the owner is a guest who has as many pictures as guests may keep; masks count apart. */
export async function checkGuestLimit(
  db: Db | Tx,
  { ownerId, role, limits }: GuestLimitInput,
): Promise<void> {
  const [owner] = await db.select({ isGuest: users.isAnonymous }).from(users).where(eq(users.id, ownerId));
  if (!owner?.isGuest) return;
  const [kept] = await db
    .select({ images: count() })
    .from(images)
    .where(and(eq(images.ownerId, ownerId), isNull(images.deletedAt), sameShelf(role)));
  if ((kept?.images ?? 0) < limits.guestImages) return;
  throw new AppError(
    "quota_exceeded",
    `Guests can keep ${limits.guestImages} pictures. Delete some, or make an account to keep more.`,
    { details: { limit: limits.guestImages } },
  );
}

/** Takes turns with other uploads of this owner until the transaction ends, so that the count above holds. */
export async function lockUploadsOf(tx: Tx, ownerId: string): Promise<void> {
  await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${`images of ${ownerId}`}, 0))`);
}

function sameShelf(role: IngestInput["role"]) {
  return role === "mask" ? eq(images.role, "mask") : ne(images.role, "mask");
}
