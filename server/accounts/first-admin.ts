import { sql } from "drizzle-orm";
import type { Db } from "../db/index.ts";

const firstAdminLock = 742_010;

/** Of accounts that no person stands behind; they never become admin. */
export const serviceRole = "service";

const adminExists = sql`exists (
  select 1 from users where is_anonymous is not true and 'admin' = any (string_to_array(role, ','))
)`;

/**
 * Makes the oldest real account the admin while there is none. Called after each new account; idempotent, so that a
 * crash between account and promotion mends itself with the next one. Guests and services never qualify.
 */
export async function promoteFirstAccount(db: Db): Promise<void> {
  const known = await db.execute<{ found: boolean }>(sql`select ${adminExists} as found`);
  if (known.rows[0]?.found) return;
  await db.transaction(async (tx) => {
    // Two first accounts at once: the lock, taken in a statement of its own, lets the second see the first's promotion.
    await tx.execute(sql`select pg_advisory_xact_lock(${firstAdminLock})`);
    await tx.execute(sql`
      update users set role = 'admin', updated_at = now()
      where id = (select id from users where is_anonymous is not true and role is distinct from ${serviceRole}
        order by created_at, id limit 1)
        and not ${adminExists}`);
  });
}
