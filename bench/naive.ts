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

const name = "naive";
const jobOptions = { removeOnComplete: true, removeOnFail: true };

export interface NaiveOptions {
  readonly slots: number;
  onJob(id: string): void;
  onCompleted?(id: string): void;
}

export async function startNaive(stage: Stage, options: NaiveOptions): Promise<Naive> {
  const { slots } = options;
  const pool = new pg.Pool({ connectionString: stage.databaseUrl, max: 10 });
  await pool.query(
    "create table if not exists naive_tasks (id uuid primary key, status text not null, payload jsonb not null)",
  );
  const processor: Processor = async (job) => {
    options.onJob(job.data.id);
    await Promise.resolve();
  };
  const parts = stage.redisUrl
    ? onRedis(stage.redisUrl, slots, processor)
    : onPostgres(stage.databaseUrl, slots, processor);
  const { queue, worker } = parts;
  worker.on("error", () => {});
  worker.on("completed", (job) => options.onCompleted?.(job.data.id));
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
      await worker.close();
      await queue.close();
      parts.disconnect();
      await pool.end();
    },
  };
}

function onRedis(url: string, slots: number, processor: Processor) {
  const connection = new Redis(url, { maxRetriesPerRequest: null });
  const blocking = connection.duplicate();
  return {
    queue: new Queue(name, { connection }),
    worker: new Worker(name, processor, { connection: blocking, concurrency: slots }),
    disconnect() {
      connection.disconnect();
      blocking.disconnect();
    },
  };
}

function onPostgres(url: string, slots: number, processor: Processor) {
  const bound = withBackend(createPostgresBackend);
  const connection = { connectionString: url, max: 5 };
  return {
    queue: new bound.Queue(name, { connection }),
    worker: new bound.Worker(name, processor, { connection, concurrency: slots }),
    disconnect: () => {},
  };
}
