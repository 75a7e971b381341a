import { sql } from "drizzle-orm";
import { schema } from "../db/index.ts";
import type { Services } from "../services/index.ts";

/** Forgets the idempotency keys of requests that nobody repeats any more. */
export async function pruneKeys({ db, config }: Pick<Services, "db" | "config">): Promise<void> {
  const { idempotencyKeys } = schema;
  const age = sql`${config.retention.keysMs} * interval '1 millisecond'`;
  await db.delete(idempotencyKeys).where(sql`${idempotencyKeys.createdAt} < now() - ${age}`);
}
