import { sql } from "drizzle-orm";
import type { Db } from "./client.ts";

/** SQLSTATE of a write to a read-only database; `isDatabaseAway` knows it. */
const readOnlyState = "25006";

/** Throws when the database does not answer or takes no writes, as a standby does. */
export async function probeDatabase(db: Db): Promise<void> {
  // On for a standby (`pg_is_in_recovery()`) as well as by `default_transaction_read_only`.
  const { rows } = await db.execute<{ mode: string }>(
    sql`select current_setting('transaction_read_only') as mode`,
  );
  if (rows[0]?.mode === "on")
    throw Object.assign(new Error("The database is read-only."), { code: readOnlyState });
}
