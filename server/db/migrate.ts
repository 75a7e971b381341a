import path from "node:path";
import { runMigrations } from "bullmq";
import { drizzle } from "drizzle-orm/node-postgres";
import { migrate as applyMigrations } from "drizzle-orm/node-postgres/migrator";
import pg from "pg";

// Asked for in the call: bundled into the web process, which never migrates, there is no folder.
const migrationsFolder = () => path.join(import.meta.dirname, "../../drizzle/migrations");
const migrationLock = 742_001;

/** Brings a database to the current schema, ours and that of the queue. Safe to run from several processes at once. */
export async function migrate(databaseUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl, connectionTimeoutMillis: 10_000 });
  await client.connect();
  try {
    await client.query("select pg_advisory_lock($1)", [migrationLock]);
    await applyMigrations(drizzle(client), { migrationsFolder: migrationsFolder() });
    await runMigrations(client);
  } finally {
    await client.end();
  }
}
