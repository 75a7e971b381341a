import os from "node:os";
import path from "node:path";
import { mkdtemp, rm } from "node:fs/promises";
import { startPrivatePostgres } from "@atelier/testing/postgres";
import { startRedis } from "@atelier/testing/redis";
import { schema } from "@atelier/server/db";
import { newId, parseConfig, parseEnv } from "@atelier/server/platform";
import { openServices, type Services } from "@atelier/server/services";
import pg from "pg";
import pino from "pino";

export type Backend = "postgres" | "redis";

/** Services of the product on a database with durable commits and, for `redis`, a real Redis; nothing else runs on them. */
export interface Stage {
  readonly services: Services;
  readonly databaseUrl: string;
  readonly redisUrl: string | null;
  readonly ownerId: string;
  /** Services of another process on the same servers; they close with the stage. */
  openAnother(): Promise<Services>;
  /** Of the bench itself: seeds, clears, reads what happened. */
  query<Row extends pg.QueryResultRow>(text: string, values?: readonly unknown[]): Promise<Row[]>;
  /** Several statements at once. */
  run(text: string): Promise<void>;
  close(): Promise<void>;
}

/** A node of a bench does one thing at a time. */
const connectionsOfAnother = 3;

export async function openStage(backend: Backend): Promise<Stage> {
  const postgres = await startPrivatePostgres();
  const redis = backend === "redis" ? await startRedis() : null;
  const dataDir = await mkdtemp(path.join(os.tmpdir(), "atelier-bench-"));
  const { env, problems } = parseEnv({
    DATABASE_URL: postgres.url,
    ATELIER_DATA_DIR: dataDir,
    ...(redis ? { REDIS_URL: redis.url } : {}),
  });
  if (!env) throw new Error(JSON.stringify(problems));
  const config = parseConfig({ limits: { openJobs: 100_000, maxWaiting: 100_000 } });
  const log = pino({ level: "silent" });
  const open = (maxConnections?: number) =>
    openServices({ env, config, name: "bench", log, ...(maxConnections ? { maxConnections } : {}) });
  const services = await open();
  const others: Services[] = [];
  const pool = new pg.Pool({ connectionString: postgres.url, max: 2 });
  const ownerId = await addOwner(services);
  return {
    services,
    databaseUrl: postgres.url,
    redisUrl: redis?.url ?? null,
    ownerId,
    async openAnother() {
      const another = await open(connectionsOfAnother);
      others.push(another);
      return another;
    },
    async query<Row extends pg.QueryResultRow>(text: string, values: readonly unknown[] = []) {
      return (await pool.query<Row>(text, [...values])).rows;
    },
    async run(text) {
      await pool.query(text);
    },
    async close() {
      await pool.end();
      for (const each of [...others, services]) await each.close();
      await redis?.destroy();
      await postgres.destroy();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** A user of the product; its id. */
export async function addOwner({ db }: Pick<Services, "db">): Promise<string> {
  const id = newId();
  await db.insert(schema.users).values({ id, name: "bench", email: `${id}@bench.invalid` });
  return id;
}
