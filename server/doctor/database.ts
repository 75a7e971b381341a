import { setTimeout as sleep } from "node:timers/promises";
import type { Client, ClientConfig } from "pg";
import type { Env } from "../platform/index.ts";
import { readOwnSigner, type StoredSigner, trySigner } from "../provenance/index.ts";
import { type CheckResult, failed, passed, reasonOf, warned, withoutPassword } from "./checks.ts";

const databaseConnectMs = 5_000;
const wakeMs = 15_000;
const wakePauseMs = 500;
const notifyMs = 3_000;
/** `server_version_num` of the oldest version that the queries are written for. */
const oldestVersion = 160_000;

/** Loaded late: with the embedded database a start has none to check, and would wait 0.5 s for its packages. */
export async function loadSessionLimits() {
  return (await import("../db/index.ts")).sessionLimits;
}

export type Pooled = Pick<Env, "DATABASE_POOLER">;

/** Of the server itself, whatever leads to it. */
const direct: Pooled = { DATABASE_POOLER: undefined };

export async function withClient<T>(
  url: string,
  action: (client: Client) => Promise<T>,
  { DATABASE_POOLER }: Pooled = direct,
): Promise<T> {
  const limits = DATABASE_POOLER === undefined ? await loadSessionLimits() : {};
  // Connects as the product does, so that a pooler that refuses these parameters shows here.
  const options = { connectionString: url, connectionTimeoutMillis: databaseConnectMs, ...limits };
  const endMs = performance.now() + wakeMs;
  for (;;) {
    const client = await connect(options).catch((error: unknown) => {
      if (performance.now() > endMs || !isWaking(error)) throw error;
    });
    if (client) {
      try {
        return await action(client);
      } finally {
        await client.end().catch(() => undefined);
      }
    }
    await sleep(wakePauseMs);
  }
}

async function connect(options: ClientConfig): Promise<Client> {
  const { default: pg } = await import("pg");
  const client = new pg.Client(options);
  client.on("error", () => undefined); // A drop shows as the failure of the query that waits.
  try {
    await client.connect();
    return client;
  } catch (error) {
    await client.end().catch(() => undefined);
    throw error;
  }
}

/** How a server begins that was asleep, as hosts let one fall: silent, cutting connections, or with words that it is starting. */
const isWaking = (error: unknown) =>
  error instanceof Error &&
  (("code" in error && (error.code === "57P03" || error.code === "ECONNRESET")) ||
    /^(?:timeout expired|Connection terminated)/.test(error.message));

/** Within a transaction, which a pooler for single statements does not take. */
async function readVersion(client: Client): Promise<{ number: number; text: string }> {
  await client.query("BEGIN");
  const answer = await client.query(
    "SELECT current_setting('server_version_num')::int AS number, current_setting('server_version') AS text",
  );
  await client.query("COMMIT");
  return answer.rows[0];
}

/** A pooler refuses parameters of the start that it does not know with this state, as PostgreSQL itself never does here. */
const refusedParameter = "08P01";

/** By the words of the driver and of poolers, which have no code of their own. */
const adviceByWords: readonly (readonly [RegExp, string])[] = [
  [/statement pooling/i, "let the pooler keep a session for a whole transaction: pool_mode = transaction"],
  [
    /does not support SSL/i,
    "let the server speak TLS, or put sslmode=disable into the address where the way to it is safe",
  ],
  [
    /self-signed certificate|unable to (?:get|verify)/i,
    "its authority is not known here: name the file of that certificate by sslrootcert=FILE in the address, or NODE_EXTRA_CA_CERTS",
  ],
];

async function adviceFor(error: unknown): Promise<string> {
  const byWords = adviceByWords.find(([words]) => words.test(reasonOf(error)));
  if (byWords) return byWords[1];
  if (error instanceof Error && "code" in error && error.code === refusedParameter) {
    const names = Object.keys(await loadSessionLimits()).join(",");
    return `set DATABASE_POOLER=transaction, or let the pooler pass these: ignore_startup_parameters = ${names}`;
  }
  return "start the server, correct the address, or remove it to use the embedded database";
}

/** Whether the database answers and is new enough. */
export async function checkDatabase(
  name: string,
  url: string,
  pooled: Pooled = direct,
): Promise<CheckResult> {
  try {
    const version = await withClient(url, readVersion, pooled);
    if (version.number >= oldestVersion) return passed(name, `PostgreSQL ${version.text}`);
    return failed(name, `is PostgreSQL ${version.text}; Atelier needs version 16 or newer`);
  } catch (error) {
    return failed(
      name,
      `${withoutPassword(url)} cannot be reached (${reasonOf(error)}); ${await adviceFor(error)}`,
    );
  }
}

const foundIndex = `CREATE INDEX CONCURRENTLY images_found ON images
  USING gin (owner_id, search_key gin_trgm_ops) WHERE deleted_at IS NULL`.replace(/\s+/g, " ");

/** Whether parts of the texts of pictures are found by an index: a migration made it where the role could create extensions. */
export async function checkSearchIndex(url: string): Promise<CheckResult> {
  const name = "Search of pictures";
  const read = `SELECT to_regclass('images') IS NULL AS "isEmpty",
    EXISTS (SELECT FROM pg_index WHERE indexrelid = to_regclass('images_found') AND indisvalid) AS "isThere"`;
  try {
    const { isEmpty, isThere } = await withClient(url, async (client) => (await client.query(read)).rows[0]);
    if (isEmpty || isThere) return passed(name, "by an index");
    const message = `reads every picture of its owner, which is slow above 50,000; let an admin of the database run CREATE EXTENSION pg_trgm; CREATE EXTENSION btree_gin; ${foundIndex}`;
    return { ...passed(name, message), isWarning: true };
  } catch (error) {
    return failed(name, `could not be tried: ${reasonOf(error)}`);
  }
}

const textsQuery = `SELECT pg_encoding_to_char(encoding) AS encoding, quote_ident(datname) AS database,
  datcollversion AS version, pg_database_collation_actual_version(oid) AS actual
  FROM pg_database WHERE datname = current_database()`;

/**
 * Whether the database can store all letters, and whether its text indexes have the order that the system's libraries (glibc,
 * ICU) have now. After an update of those, a name may not be found, or be stored twice; PostgreSQL only warns each session.
 */
export async function checkTexts(url: string): Promise<CheckResult> {
  const name = "Database texts";
  try {
    const row = await withClient(url, async (client) => (await client.query(textsQuery)).rows[0]);
    const { encoding, database, version, actual } = row;
    if (encoding !== "UTF8")
      return failed(
        name,
        `are stored as ${encoding}, which lacks letters of prompts; make the database again with ENCODING 'UTF8', and restore a backup into it`,
      );
    if (version === null || actual === null || version === actual)
      return passed(name, `${encoding}, sorted as the system sorts`);
    const commands = `REINDEX DATABASE ${database}; ALTER DATABASE ${database} REFRESH COLLATION VERSION`;
    return warned(
      name,
      `were sorted by version ${version} of the system’s rules, which has ${actual} now: names may not be found, or stand twice; ${commands}`,
    );
  } catch (error) {
    return failed(name, `could not be tried: ${reasonOf(error)}`);
  }
}

/** An idle transaction that is ended later than this has stopped the removal of dead rows for too long. */
const longestIdleMs = 300_000;

/**
 * Whether the database ends sessions that stay idle in a transaction, whichever program they belong to: while one is
 * open no dead row is removed, and the queue becomes slower with each job.
 */
export async function checkIdleLimit(url: string): Promise<CheckResult> {
  const name = "Idle transactions";
  const read = `SELECT setting::int AS "limitMs", quote_ident(current_database()) AS database
    FROM pg_settings WHERE name = 'idle_in_transaction_session_timeout'`;
  try {
    // Without the product's own limits, as a foreign program connects.
    const { limitMs, database } = await withClient(
      url,
      async (client) => (await client.query(read)).rows[0],
      { DATABASE_POOLER: "transaction" },
    );
    if (limitMs > 0 && limitMs <= longestIdleMs) return passed(name, `end after ${limitMs / 1_000} s`);
    const found = limitMs === 0 ? "may stay open for ever" : `end only after ${limitMs / 1_000} s`;
    const message = `${found}, and the queue becomes slow meanwhile; ALTER DATABASE ${database} SET idle_in_transaction_session_timeout = '60s'`;
    return { ...passed(name, message), isWarning: true };
  } catch (error) {
    return failed(name, `could not be tried: ${reasonOf(error)}`);
  }
}

const signerQuery = `SELECT fingerprint, certificates, sealed_key AS "sealedKey" FROM signing_keys WHERE sealed_by = $1`;

/** What signs the pictures of this studio when it made the key itself: whether it can be opened, and what it signs is verified. */
export async function checkOwnSigningKey(env: Env, url: string): Promise<CheckResult[]> {
  const name = "Signing key, stored";
  const advice = "pictures that AI makes have no manifest until it can be used: docs/provenance.md";
  try {
    const signer = await readOwnSigner(env, (sealedBy) =>
      withClient(
        url,
        async (client) => (await client.query<StoredSigner>(signerQuery, [sealedBy])).rows[0] ?? null,
      ),
    );
    if (!signer) return [];
    if (!(await trySigner(signer))) return [warned(name, `what it signs cannot be verified; ${advice}`)];
    const day = signer.validUntil.toISOString().slice(0, 10);
    return [passed(name, `the studio’s own signs and is verified; its certificate is valid until ${day}`)];
  } catch (error) {
    // A database that is not migrated yet has none.
    if (error instanceof Error && "code" in error && error.code === undefinedTable) return [];
    return [warned(name, `cannot be used (${reasonOf(error)}); ${advice}`)];
  }
}

/** A line where this process cannot read the second factors of some accounts, which then cannot sign in. */
export async function checkFactors(env: Env, url: string): Promise<CheckResult[]> {
  if (env.AUTH_SECRET === undefined) return [];
  const name = "Second factors";
  const { openDatabase } = await import("../db/index.ts");
  const { countUnreadableFactors } = await import("../accounts/index.ts");
  const isPooled = env.DATABASE_POOLER === "transaction";
  const opened = openDatabase({ url, applicationName: "atelier-doctor", maxConnections: 1, isPooled });
  try {
    const count = await countUnreadableFactors({ db: opened.db, env });
    if (count === 0) return [];
    return [
      failed(
        name,
        `cannot be read (accounts: ${count}): AUTH_SECRET is another one than when they were set up. Set that one again, or reset them with atelier users reset-factors`,
      ),
    ];
  } catch (error) {
    const cause = error instanceof Error ? error.cause : null;
    // A database that is not migrated yet has none.
    if (cause instanceof Error && "code" in cause && cause.code === undefinedTable) return [];
    return [warned(name, `could not be read: ${reasonOf(cause ?? error)}`)];
  } finally {
    await opened.close();
  }
}

/** State of PostgreSQL for a table that does not exist. */
export const undefinedTable = "42P01";

function hearOnce(client: Client, channel: string): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), notifyMs);
    client.on("notification", (note) => {
      if (note.channel !== channel) return;
      clearTimeout(timer);
      resolve(true);
    });
  });
}

/** Whether a notification from one connection reaches another; poolers in transaction mode lose it. */
export async function checkListen(url: string): Promise<CheckResult> {
  const channel = `atelier_doctor_${process.pid}`;
  try {
    const isHeard = await withClient(url, async (listener) => {
      await listener.query(`LISTEN ${channel}`);
      const heard = hearOnce(listener, channel);
      await withClient(url, (sender) => sender.query("SELECT pg_notify($1, '')", [channel]));
      return heard;
    });
    if (isHeard) return passed("LISTEN", "notifications arrive");
  } catch (error) {
    return failed("LISTEN", `could not be tried: ${reasonOf(error)}`);
  }
  return failed(
    "LISTEN",
    "notifications do not arrive (a pooler?); set DATABASE_DIRECT_URL to the server itself, else live updates come once a second",
  );
}
