import { sql } from "drizzle-orm";
import { schema } from "../db/index.ts";
import type { Services } from "../services/index.ts";

/** Longer than any window of the sign-in limits. */
const limitsKeptMs = 86_400_000;

/** Removes ended sessions and the counters of tries to sign in that no limit asks for any more. */
export async function pruneSignIns({ db }: Pick<Services, "db">): Promise<void> {
  const { rateLimits, sessions, verifications } = schema;
  await db.delete(sessions).where(sql`${sessions.expiresAt} < now()`);
  await db.delete(verifications).where(sql`${verifications.expiresAt} < now()`);
  const nowMs = sql`(extract(epoch from now()) * 1000)::bigint`;
  await db.delete(rateLimits).where(sql`${rateLimits.lastRequest} < ${nowMs} - ${limitsKeptMs}::bigint`);
}
