import { createPostgresBackend, Queue, withBackend, Worker, type Processor } from "bullmq";
import { Redis } from "ioredis";
import pg from "pg";
import type { Stage } from "./stage.ts";

/** The reference: one INSERT, then `queue.add` of stock BullMQ. It loses jobs when the process dies in between. */
export interface Naive {
  accept(id: string): Promise<void>;
  /** `queue.add` alone. */
  add(id: string): Promise<void>;
  close(): Promise<void>;
}

const jobOptions = { removeOnComplete: true, removeOnFail: true };

/** The job in stock BullMQ's own words. */
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
