import path from "node:path";
import { createPostgresBackend, type Processor, Queue, withBackend, Worker } from "bullmq";
import { Redis } from "ioredis";
import pg from "pg";
import { newId } from "@atelier/server/platform";
import { killAtExit, runNode } from "@atelier/testing/processes";
import type { Stage } from "./stage.ts";

/** The reference: one INSERT, then `queue.add` of stock BullMQ. It loses jobs when the process dies in between. */
interface Naive {
  accept(id: string): Promise<void>;
  /** `queue.add` alone. */
  add(id: string): Promise<void>;
  close(): Promise<void>;
}

const jobOptions = { removeOnComplete: true, removeOnFail: true };

/** The job as plain BullMQ runs it. */
interface NaiveJob {
  readonly id: string;
  /** Of the worker that has it, from 0. */
  readonly node: number;
  readonly waitMs: number;
}

export interface NaiveOptions {
  /** Of each worker. */
  readonly slots: number;
  /** Workers; 1 by default, 0 for a side that only adds. */
  readonly nodes?: number;
  readonly name?: string;
  onJob(id: string, job: NaiveJob): void | Promise<void>;
  onCompleted?(id: string): void;
}

export async function startNaive(stage: Stage, options: NaiveOptions): Promise<Naive> {
  const pool = new pg.Pool({ connectionString: stage.databaseUrl, max: 10 });
  await pool.query(
    "create table if not exists naive_tasks (id uuid primary key, status text not null, payload jsonb not null)",
  );
  const processorOf =
    (node: number): Processor =>
    async (job) => {
      await options.onJob(job.data.id, { id: job.data.id, node, waitMs: Date.now() - job.timestamp });
    };
  const naive = options.name ?? "naive";
  const parts = stage.redisUrl ? onRedis(stage.redisUrl, naive) : onPostgres(stage.databaseUrl, naive);
  const { queue } = parts;
  const workers = Array.from({ length: options.nodes ?? 1 }, (_, node) =>
    parts.openWorker(options.slots, processorOf(node)),
  );
  for (const worker of workers) {
    worker.on("error", () => {});
    worker.on("completed", (job) => options.onCompleted?.(job.data.id));
  }
  const add = async (id: string) => {
    await queue.add("task", { id }, { ...jobOptions, jobId: `t-${id}` });
  };
  return {
    add,
    async accept(id) {
      await pool.query("insert into naive_tasks values ($1, 'queued', $2)", [id, { kind: "upscale" }]);
      await add(id);
    },
    async close() {
      await Promise.all(workers.map((worker) => worker.close()));
      await queue.close();
      parts.disconnect();
      await pool.end();
    },
  };
}

function onRedis(url: string, name: string) {
  const connection = new Redis(url, { maxRetriesPerRequest: null });
  const blocking: Redis[] = [];
  return {
    queue: new Queue(name, { connection }),
    openWorker(slots: number, processor: Processor) {
      const own = connection.duplicate();
      blocking.push(own);
      return new Worker(name, processor, { connection: own, concurrency: slots });
    },
    disconnect() {
      for (const each of [connection, ...blocking]) each.disconnect();
    },
  };
}

function onPostgres(url: string, name: string) {
  const bound = withBackend(createPostgresBackend);
  const connection = { connectionString: url, max: 5 };
  return {
    queue: new bound.Queue(name, { connection }),
    openWorker: (slots: number, processor: Processor) =>
      new bound.Worker(name, processor, { connection, concurrency: slots }),
    disconnect: () => {},
  };
}

const victim = path.join(import.meta.dirname, "stock-victim.ts");
/** Its lock of 30 s and its check every 30 s make a minute at most; then it counts as lost. */
const patienceMs = 90_000;

/**
 * Kills a stock BullMQ worker that holds a job; resolves with how to wait for the ms from the kill until another worker
 * with the same defaults (lock 30 s, check for stalled jobs each 30 s) has the job.
 */
export async function killStock(stage: Stage): Promise<() => Promise<number>> {
  const name = `stock-${newId()}`;
  const [backend, url] = stage.redisUrl ? ["redis", stage.redisUrl] : ["postgres", stage.databaseUrl];
  const feeder = await startNaive(stage, { name, slots: 1, nodes: 0, onJob: () => {} });
  const run = runNode([victim, backend, url, name]);
  killAtExit(run.child);
  await feeder.add(newId());
  await run.seen(/started/);
  const again = Promise.withResolvers<number>();
  const rescuer = await startNaive(stage, { name, slots: 1, onJob: () => again.resolve(performance.now()) });
  run.child.kill("SIGKILL");
  const killedMs = performance.now();
  const timer = setTimeout(() => again.resolve(Number.POSITIVE_INFINITY), patienceMs);
  return async () => {
    const tookMs = (await again.promise) - killedMs;
    clearTimeout(timer);
    await closeAll([rescuer, feeder]);
    return tookMs;
  };
}

async function closeAll(sides: readonly Naive[]): Promise<void> {
  for (const side of sides) await side.close();
}
