import { schema, type Db, type Tx } from "../db/index.ts";
import { AppError, newId } from "../platform/index.ts";

/** The words a user agrees to before an outfit change; stored with the photo's hash. */
export const adultConsent = "adult-who-agrees" as const;

/** Stores the statement for the bytes of a photo; saying it twice stores it once. */
export async function recordConsent(
  db: Db | Tx,
  { ownerId, storedSha256 }: { ownerId: string; storedSha256: string },
): Promise<void> {
  await db
    .insert(schema.consents)
    .values({ id: newId(), ownerId, storedSha256, statement: adultConsent })
    .onConflictDoNothing();
}

/** Throws `consent_required` unless the params bear the statement. */
export function requireConsent(params: unknown): void {
  const stated =
    typeof params === "object" && params !== null && "consent" in params && params.consent === true;
  if (!stated) throw new AppError("consent_required");
}
