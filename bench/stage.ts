import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import pg from "pg";
import pino from "pino";
import { schema } from "@atelier/server/db";
import { ingest } from "@atelier/server/images";
import { sweep } from "@atelier/server/jobs";
import { newId, parseConfig, parseEnv } from "@atelier/server/platform";
import { openServices, type Services } from "@atelier/server/services";
import { startPrivatePostgres } from "@atelier/testing/postgres";
import { startRedis } from "@atelier/testing/redis";

/** An image's row is enough where its file is never read. */
export async function insertImage({ db }: Pick<Services, "db">, ownerId: string): Promise<string> {
  const id = newId();
  await db.insert(schema.images).values({
    id,
    ownerId,
    role: "upload",
    storageKey: `users/${ownerId}/${id}`,
    storedSha256: "0".repeat(64),
    mime: "image/png",
    widthPx: 64,
    heightPx: 64,
    sizeBytes: 1,
    thumbhash: "",
  });
  return id;
}

/** Resolves waits for things that happen to ids, whichever comes first: the wait or the event. */
export interface Signals {
  readonly note: (id: string) => void;
  /** When it happened, by `performance.now()`. */
  when(id: string): Promise<number>;
}

export function createSignals(): Signals {
  const waiting = new Map<string, (atMs: number) => void>();
  const early = new Map<string, number>();
  return {
    note(id) {
      const resolve = waiting.get(id);
      if (resolve) resolve(performance.now());
      else early.set(id, performance.now());
    },
    when: (id) =>
      new Promise((resolve) => {
        const atMs = early.get(id);
        if (atMs === undefined) waiting.set(id, resolve);
        else resolve(atMs);
      }),
  };
}

/** The safety net of a bench without workers: a lost bell would else leave a slot empty until the end. */
export function startSweeper(services: Services): { stop(): Promise<void> } {
  let running: Promise<unknown> = Promise.resolve();
  const timer = setInterval(() => {
    running = running.then(() => sweep(services)).catch(() => {});
  }, services.config.timing.sweepMs);
  return {
    async stop() {
      clearInterval(timer);
      await running;
    },
  };
}

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
    AUTH_SECRET: "of a bench, which nobody else reaches",
    ...(redis ? { REDIS_URL: redis.url } : {}),
  });
  if (!env) throw new Error(JSON.stringify(problems));
  const config = parseConfig({ limits: { openJobs: 100_000, maxWaiting: 100_000 } });
  const log = pino({ level: "silent" });
  const open = (DATABASE_MAX_CONNECTIONS?: number) =>
    openServices({ env: { ...env, DATABASE_MAX_CONNECTIONS }, config, name: "bench", log });
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

/** A real picture of the stage's owner, for workers that read it; its id. */
export async function ingestPicture({ services, ownerId }: Stage): Promise<string> {
  const bytes = readFileSync("public/samples/astronaut.png");
  return (await ingest(services, { ownerId, role: "upload", bytes, name: "bench.png" })).id;
}
