import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { runMigrations } from "bullmq";
import { drizzle } from "drizzle-orm/node-postgres";
import { migrate as applyMigrations } from "drizzle-orm/node-postgres/migrator";
import pg from "pg";

// Resolved on call: in the bundle of the web process, which never migrates, the folder does not exist.
const migrationsFolder = () => path.join(import.meta.dirname, "../../drizzle/migrations");
const migrationLock = 742_001;

/** How long to wait for another process that migrates; a first start on a slow disk takes seconds. */
const lockWaitMs = 60_000;
const lockRetryMs = 250;

/**
 * Brings a database to the current schema, ours and that of the queue. Safe to run from several processes at once.
 * Needs a direct connection: a pooler in transaction mode would take the lock in another session.
 * Throws when another process holds the lock for longer than `waitMs`.
 */
export async function migrate(databaseUrl: string, { waitMs = lockWaitMs } = {}): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl, connectionTimeoutMillis: 10_000 });
  await client.connect();
  try {
    await takeLock(client, waitMs);
    await applyMigrations(drizzle(client), { migrationsFolder: migrationsFolder() });
    await runMigrations(client);
  } finally {
    await client.end();
  }
}

/** Polls: a waiting statement would block concurrent index builds. */
async function takeLock(client: pg.Client, waitMs: number): Promise<void> {
  const endMs = performance.now() + waitMs;
  for (;;) {
    const { rows } = await client.query("select pg_try_advisory_lock($1) as taken", [migrationLock]);
    if (rows[0]?.taken) return;
    if (performance.now() > endMs)
      throw new Error(
        "Another process is bringing the database up to date and does not end. Stop it, or end its session in the database, and start again.",
      );
    await sleep(lockRetryMs);
  }
}
