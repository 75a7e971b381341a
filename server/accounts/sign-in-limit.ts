import { createHash } from "node:crypto";
import { sql } from "drizzle-orm";
import type { Db } from "../db/index.ts";
import { newId } from "../platform/index.ts";

const signInWindowMs = 60_000;
export const signInTries = 10;

/**
 * Counts a try to sign in to an address and says whether it is within the limit. By address, not by caller: whoever
 * guesses passwords can send from many addresses or invent X-Forwarded-For.
 */
export async function countSignIn(db: Db, email: string): Promise<boolean> {
  const key = `sign-in|${createHash("sha256").update(email.trim().toLowerCase()).digest("hex")}`;
  const nowMs = sql`(extract(epoch from clock_timestamp()) * 1000)::bigint`;
  const isOver = sql`rate_limits.last_request <= ${nowMs} - ${signInWindowMs}`;
  const { rows } = await db.execute<{ count: number }>(sql`
    insert into rate_limits (id, key, count, last_request) values (${newId()}, ${key}, 1, ${nowMs})
    on conflict (key) do update set
      count = case when ${isOver} then 1 else rate_limits.count + 1 end,
      last_request = case when ${isOver} then excluded.last_request else rate_limits.last_request end
    returning count`);
  return (rows[0]?.count ?? 0) <= signInTries;
}
