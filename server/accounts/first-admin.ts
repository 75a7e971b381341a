import { createHash, timingSafeEqual } from "node:crypto";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { sql } from "drizzle-orm";
import type { Db } from "../db/index.ts";
import type { Services } from "../services.ts";

const firstAdminLock = 742_010;

/** File of the token below `secrets` in the data folder; the supervisor makes it and prints it. */
export const firstAdminSecret = "first-admin-token";

/** Accounts without a person; they never become admin. */
export const serviceRole = "service";

const adminExists = sql`exists (
  select 1 from users where is_anonymous is not true and 'admin' = any (string_to_array(role, ','))
)`;

/** Whether a person is admin already: until then the token of the first admin is valid. */
export async function hasAdmin(db: Pick<Db, "execute">): Promise<boolean> {
  const rows = await db.execute<{ found: boolean }>(sql`select ${adminExists} as found`);
  return rows[0]?.found === true;
}

const digest = (text: string) => createHash("sha256").update(text).digest();

/** Whether this is the printed token and there is no admin yet. */
export async function isFirstAdminToken(
  { db, env }: Pick<Services, "db" | "env">,
  token: string,
): Promise<boolean> {
  const file = path.join(env.ATELIER_DATA_DIR, "secrets", firstAdminSecret);
  const kept = (await readFile(file, "utf8").catch(() => "")).trim();
  if (kept === "" || !timingSafeEqual(digest(kept), digest(token))) return false;
  return !(await hasAdmin(db));
}

/** Makes an account the first admin; false when there is an admin already, or the account is a guest or a service. */
export async function makeFirstAdmin(db: Db, userId: string): Promise<boolean> {
  return db.transaction(async (tx) => {
    // Two accounts at once: the lock, taken in a separate statement, lets the second see the first's promotion.
    await tx.execute(sql`select pg_advisory_xact_lock(${firstAdminLock})`);
    const { count } = await tx.execute(sql`
      update users set role = 'admin', updated_at = now()
      where id = ${userId} and is_anonymous is not true and role is distinct from ${serviceRole}
        and not ${adminExists}`);
    return count === 1;
  });
}
