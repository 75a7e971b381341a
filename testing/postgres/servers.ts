import { randomUUID } from "node:crypto";
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import os from "node:os";
import path from "node:path";
import pg from "pg";
import { migrate } from "@atelier/server/db";
import { openPostgres } from "../../scripts/embedded/postgres.ts";
import { stopServer } from "../../scripts/embedded/server.ts";
import { identify, isAlive } from "../../scripts/process/lock.ts";
import { findFreePort } from "../../scripts/process/tools.ts";
import { ensurePgvector, pgvectorSettings } from "../../scripts/test/pip-files.ts";

/** Carries the address of the run's server from the global set-up to the test processes. */
const serverUrlName = "ATELIER_TEST_POSTGRES_URL";
/** The same for the folder of the server from which `private-servers.ts` copies its own. */
const templateFolderName = "ATELIER_TEST_POSTGRES_TEMPLATE";
/** The same for `checksStories`. */
const checkName = "ATELIER_TEST_STORIES";

/** Whether this process or the one that started it has started the run's server. */
export const hasTestPostgres = () => process.env[serverUrlName] !== undefined;

function readServerUrl(): string {
  const url = process.env[serverUrlName];
  if (!url) throw new Error("No test database server runs: call startTestPostgres() first.");
  return url;
}

/** Where the first private server of the run is kept for the others; null where no server of the run has been started. */
export const readTemplateFolder = () => process.env[templateFolderName] ?? null;

/** The same server, another database. */
function withDatabase(url: string, database: string): string {
  const changed = new URL(url);
  changed.pathname = `/${database}`;
  return changed.href;
}

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

/** Lets one process of the run after the other do this, by a lock of the run's server with that number. */
export function inTurn(lock: number, action: () => Promise<void>): Promise<void> {
  return withAdmin(readServerUrl(), async (client) => {
    await client.query("SELECT pg_advisory_lock($1)", [lock]);
    await action();
  });
}

async function runOn(url: string, text: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(text);
  await client.end();
}

async function hasTemplate(client: pg.Client): Promise<boolean> {
  const answer = await client.query("SELECT 1 FROM pg_database WHERE datname = $1 AND datistemplate", [
    template,
  ]);
  return answer.rows.length > 0;
}

/**
 * Every statement that raises the revision of a job also writes an event of each new revision, the last one with the status
 * of the row: `change` of server/jobs/job.ts and three SQL functions. Checked at each commit.
 */
const storyCheck = `
  create schema testing;
  create function testing.check_story() returns trigger language plpgsql as $$
  begin
    if exists (select from jobs where id = new.id) and (
      (select count(*) from job_events where job_id = new.id and revision > old.revision and revision <= new.revision)
        <> new.revision - old.revision
      or not exists (select from job_events where job_id = new.id and revision = new.revision and status = new.status)
    ) then
      raise exception 'job % went from revision % to % (%) without its events', new.id, old.revision, new.revision, new.status;
    end if;
    return null;
  end $$;
  create constraint trigger jobs_story after update of revision on jobs deferrable initially deferred
    for each row when (new.revision <> old.revision) execute function testing.check_story();`;

/** The template is marked as such only once it is migrated: a half-made one of a failed try is made anew. */
async function ensureTemplate(serverUrl: string, client: pg.Client): Promise<void> {
  if (await hasTemplate(client)) return;
  await client.query("SELECT pg_advisory_lock($1)", [templateLock]);
  try {
    if (await hasTemplate(client)) return;
    await client.query(`DROP DATABASE IF EXISTS ${template} WITH (FORCE)`);
    await client.query(`CREATE DATABASE ${template}`);
    const url = withDatabase(serverUrl, template);
    await migrate(url);
    if (process.env[checkName]) await runOn(url, storyCheck);
    await client.query(`ALTER DATABASE ${template} WITH IS_TEMPLATE true ALLOW_CONNECTIONS false`);
  } finally {
    await client.query("SELECT pg_advisory_unlock($1)", [templateLock]);
  }
}

/** Clones the migrated template into a database with a unique name; needs the global set-up's server. */
export function createTestDatabase(): Promise<TestDatabase> {
  return createDatabase(async (name, serverUrl, client) => {
    await ensureTemplate(serverUrl, client);
    // Without fsync a copy of the files takes half the time of the default, which writes each page into the log.
    await client.query(`CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY file_copy`);
  });
}

/** The same without any table. */
export function createEmptyDatabase(): Promise<TestDatabase> {
  return createDatabase(async (name, _serverUrl, client) => {
    await client.query(`CREATE DATABASE ${name}`);
  });
}

async function createDatabase(
  create: (name: string, serverUrl: string, client: pg.Client) => Promise<void>,
): Promise<TestDatabase> {
  const serverUrl = readServerUrl();
  const name = `test_${randomUUID().replaceAll("-", "")}`;
  await withAdmin(serverUrl, (client) => create(name, serverUrl, client));
  return {
    url: withDatabase(serverUrl, name),
    drop: () =>
      withAdmin(serverUrl, async (client) => {
        await client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
      }),
  };
}

const prefix = "atelier-test-postgres-";

/** The database server of one test run. */
export interface TestPostgres {
  readonly url: string;
  /** Stops the server and removes its files. */
  stop(): Promise<void>;
}

function isOwned(folder: string): boolean {
  try {
    return isAlive(JSON.parse(readFileSync(path.join(folder, "owner.json"), "utf8")));
  } catch {
    return false;
  }
}

/** Ends what a killed test run left behind. */
async function sweepLeftovers(): Promise<void> {
  const names = readdirSync(os.tmpdir()).filter((name) => name.startsWith(prefix));
  for (const folder of names.map((name) => path.join(os.tmpdir(), name))) {
    if (isOwned(folder)) continue;
    await stopServer(path.join(folder, "postgres"));
    await stopServer(path.join(folder, "private", "postgres"));
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Makes an empty folder below the system's temporary folder that the next run removes if this process is killed. */
export async function makeOwnedFolder(): Promise<string> {
  await sweepLeftovers();
  const draft = mkdtempSync(path.join(os.tmpdir(), "atelier-draft-"));
  chmodSync(draft, 0o755);
  writeFileSync(path.join(draft, "owner.json"), JSON.stringify(identify(process.pid)));
  // It gets the swept name only with its owner inside: another run may sweep at this moment.
  const folder = draft.replace("atelier-draft-", prefix);
  renameSync(draft, folder);
  return folder;
}

/** Settings of a server whose data is thrown away. */
export const thrownAway = { fsync: "off", full_page_writes: "off" };

/** Throws when it cannot be installed. */
export function findPgvector(): Readonly<Record<string, string>> {
  if (!ensurePgvector()) throw new Error("pgvector could not be installed.");
  return pgvectorSettings;
}

/**
 * Starts the server that `createTestDatabase` of this process and its children uses. No fsync: data is thrown away.
 * `hasPgvector` makes the extension available; the test or the product creates it. With `checksStories` the databases refuse
 * changes of a job without their events, which costs each change a read.
 */
export async function startTestPostgres({
  hasPgvector = false,
  checksStories = false,
} = {}): Promise<TestPostgres> {
  if (checksStories) process.env[checkName] = "1";
  const dataDir = await makeOwnedFolder();
  const settings = { ...thrownAway, max_connections: "400", ...(hasPgvector ? findPgvector() : {}) };
  const server = await openPostgres({ dataDir, port: await findFreePort(), settings });
  process.env[serverUrlName] = server.superuserUrl;
  process.env[templateFolderName] = path.join(dataDir, "private");
  return {
    url: server.superuserUrl,
    stop: async () => {
      await server.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}
