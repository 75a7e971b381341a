import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "drizzle-orm";
import pg from "pg";
import type { Services } from "@atelier/server/services";

/** Two a second, as F17 says. */
const betweenMs = 500;

/** Sessions of a database that are being ended. */
export interface EndedSessions {
  /** How many so far. */
  count(): number;
  /** How many in all, once it is over. */
  readonly total: Promise<number>;
}

/** Ends one session of the database after another, whoever holds it, until `over`. */
export function endSessions({ env }: Pick<Services, "env">, over: AbortSignal): EndedSessions {
  let ended = 0;
  const run = async () => {
    const admin = new pg.Client({ connectionString: env.DATABASE_URL, application_name: "test admin" });
    // The test may stop the database under it.
    admin.on("error", () => undefined);
    await admin.connect();
    while (!over.aborted) {
      const answer = await admin.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and pid <> pg_backend_pid() order by random() limit 1`,
      );
      ended += answer.rows.length;
      await sleep(betweenMs, undefined, { signal: over }).catch(() => undefined);
    }
    await admin.end();
    return ended;
  };
  return { count: () => ended, total: run() };
}

interface Cut {
  readonly table: string;
  /** SQL condition about `old` and `new`. */
  readonly when?: string;
  /** So many updates. */
  readonly times: number;
}

/** While `work` runs, ends the session of each update of such a row before it is written, and of its transaction. */
export async function whileCut<T>(
  { db }: Pick<Services, "db">,
  { table, when = "true", times }: Cut,
  work: () => Promise<T>,
): Promise<T> {
  const end = `if nextval('cuts') <= ${times} then perform pg_terminate_backend(pg_backend_pid()); end if;`;
  await db.execute(sql`create sequence cuts`);
  await db.execute(
    sql.raw(`create function cut() returns trigger language plpgsql as $$ begin ${end} return new; end $$`),
  );
  await db.execute(
    sql.raw(
      `create trigger cut before update on ${table} for each row when (${when}) execute function cut()`,
    ),
  );
  try {
    return await work();
  } finally {
    await db.execute(sql`drop function cut cascade`);
    await db.execute(sql`drop sequence cuts`);
  }
}

/** Holds all sessions that a database has to give. */
export interface Hoard {
  free(): Promise<void>;
}

const tooManyConnections = "53300";

/** Who comes back at once is beaten by a crowd. */
const crowd = 8;

/** Takes every session of the database, those of the product's processes too, which are ended for it. */
export async function takeAllSessions(url: string): Promise<Hoard> {
  const held: pg.Client[] = [];
  const free = async () => {
    await Promise.all(held.map((client) => client.end()));
  };
  const takeSeveral = () => Promise.all(Array.from({ length: crowd }, () => takeOne(url, held)));
  for (;;) {
    while ((await takeSeveral()).includes(true));
    const [admin] = held;
    if (!admin) throw new Error("another client has every session");
    const ended = await admin.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name <> 'hoard' and backend_type = 'client backend'",
    );
    if (ended.rows.length === 0) return { free };
  }
}

/** False when there is none left. */
async function takeOne(url: string, held: pg.Client[]): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, application_name: "hoard" });
  client.on("error", () => undefined);
  try {
    await client.connect();
    held.push(client);
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === tooManyConnections) return false;
    throw error;
  }
}
