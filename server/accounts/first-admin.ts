import { createHash, timingSafeEqual } from "node:crypto";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { sql } from "drizzle-orm";
import { recordAct } from "../audit/index.ts";
import { type Db, lockTopic, type Tx } from "../db/index.ts";
import { AppError } from "../platform/index.ts";
import type { Services } from "../services.ts";

/** File of the token below `secrets` in the data folder; the supervisor makes it and prints it. */
export const firstAdminSecret = "first-admin-token";

/** Accounts without a person; they never become admin. */
export const serviceRole = "service";

const adminExists = sql`exists (
  select 1 from users where is_anonymous is not true and 'admin' = any (string_to_array(role, ','))
)`;

/** Excludes other changes of who is an admin until the transaction ends. */
export async function lockAdmins(tx: Tx): Promise<void> {
  await lockTopic(tx, "admins");
}

/** SQL condition: row `u` of users is an admin who can sign in. */
const isActiveAdmin = sql`u.is_anonymous is not true and 'admin' = any (string_to_array(u.role, ','))
  and u.banned is not true and u.deleted_at is null
  and not exists (select from client_users c where c.user_id = u.id)`;

/** Whether this user is an admin now; call it after `lockAdmins`. */
export async function isAdminNow(tx: Tx, userId: string): Promise<boolean> {
  const rows = await tx.execute(sql`select from users u where u.id = ${userId} and ${isActiveAdmin}`);
  return rows.length > 0;
}

/** Throws `conflict` when this user is the only admin who can sign in; call it after `lockAdmins`. */
export async function requireOtherAdmin(tx: Tx, userId: string): Promise<void> {
  if (!(await isAdminNow(tx, userId))) return;
  const others = await tx.execute(
    sql`select from users u where u.id <> ${userId} and ${isActiveAdmin} limit 1`,
  );
  if (others.length === 0)
    throw new AppError("conflict", "This is the only admin. Make another account an admin first.");
}

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
    await lockAdmins(tx);
    const { count } = await tx.execute(sql`
      update users set role = 'admin', updated_at = now()
      where id = ${userId} and is_anonymous is not true and role is distinct from ${serviceRole}
        and not ${adminExists}`);
    const details = { role: "admin", isFirst: true };
    if (count === 1) await recordAct(tx, { kind: "user.role_set", by: userId, details });
    return count === 1;
  });
}
