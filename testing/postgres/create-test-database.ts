import { randomUUID } from "node:crypto";
import { migrate } from "@atelier/server/db";
import pg from "pg";
import { readServerUrl, withDatabase } from "./server-url.ts";

const template = "atelier_template";
/** Any number will do, as long as it is the only user: one process makes the template while others wait. */
const templateLock = 7_261_001;

/** A migrated database of its own for one test file. */
export interface TestDatabase {
  readonly url: string;
  /** Ends its sessions and drops it. Idempotent. */
  drop(): Promise<void>;
}

async function withAdmin<T>(serverUrl: string, action: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: withDatabase(serverUrl, "postgres") });
  await client.connect();
  try {
    return await action(client);
  } finally {
    await client.end();
  }
}

async function hasTemplate(client: pg.Client): Promise<boolean> {
  const answer = await client.query("SELECT 1 FROM pg_database WHERE datname = $1 AND datistemplate", [
    template,
  ]);
  return answer.rows.length > 0;
}

/** The template is marked as such only once it is migrated: a half-made one of a failed try is made anew. */
async function ensureTemplate(serverUrl: string, client: pg.Client): Promise<void> {
  if (await hasTemplate(client)) return;
  await client.query("SELECT pg_advisory_lock($1)", [templateLock]);
  try {
    if (await hasTemplate(client)) return;
    await client.query(`DROP DATABASE IF EXISTS ${template} WITH (FORCE)`);
    await client.query(`CREATE DATABASE ${template}`);
    await migrate(withDatabase(serverUrl, template));
    await client.query(`ALTER DATABASE ${template} WITH IS_TEMPLATE true ALLOW_CONNECTIONS false`);
  } finally {
    await client.query("SELECT pg_advisory_unlock($1)", [templateLock]);
  }
}

/** Clones the migrated template into a database with a unique name; needs the global set-up's server. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const serverUrl = readServerUrl();
  const name = `test_${randomUUID().replaceAll("-", "")}`;
  await withAdmin(serverUrl, async (client) => {
    await ensureTemplate(serverUrl, client);
    await client.query(`CREATE DATABASE ${name} TEMPLATE ${template}`);
  });
  return {
    url: withDatabase(serverUrl, name),
    drop: () =>
      withAdmin(serverUrl, async (client) => {
        await client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
      }),
  };
}
