import { type SQL, sql } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";
import type { Db } from "./client.ts";

/** One statement deletes few enough rows to end long before the limit of statements. */
const batchRows = 2_000;
/** Of one pass; the next pass continues. */
const maxBatches = 50;

/**
 * Deletes the rows of a table that match, in batches with a commit each, so that a table that was not tidied for weeks is
 * worked off instead of rolled back at the limit. Rows that another statement holds are left for the next pass.
 */
export async function deleteInBatches(db: Db, table: PgTable, where: SQL): Promise<number> {
  let deleted = 0;
  for (let batch = 0; batch < maxBatches; batch += 1) {
    const { count } = await db.execute(sql`
      delete from ${table} where ctid = any(array(
        select ${table}.ctid from ${table} where ${where} limit ${batchRows} for update of ${table} skip locked))`);
    deleted += count;
    if (count < batchRows) break;
  }
  return deleted;
}
