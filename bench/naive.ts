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
const options = { removeOnComplete: true, removeOnFail: true };

export async function startNaive(stage: Stage, slots: number, onJob: (id: string) => void): Promise<Naive> {
  const pool = new pg.Pool({ connectionString: stage.databaseUrl, max: 10 });
  await pool.query(
    "create table if not exists naive_tasks (id uuid primary key, status text not null, payload jsonb not null)",
  );
  const processor: Processor = async (job) => {
    onJob(job.data.id);
    await Promise.resolve();
  };
  const { queue, worker } = stage.redisUrl
    ? onRedis(stage.redisUrl, slots, processor)
    : onPostgres(stage.databaseUrl, slots, processor);
  worker.on("error", () => {});
  const add = async (id: string) => {
    await queue.add("task", { id }, { ...options, jobId: `t-${id}` });
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
      await pool.end();
    },
  };
}

function onRedis(url: string, slots: number, processor: Processor) {
  const connect = () => new Redis(url, { maxRetriesPerRequest: null });
  return {
    queue: new Queue(name, { connection: connect() }),
    worker: new Worker(name, processor, { connection: connect(), concurrency: slots }),
  };
}

function onPostgres(url: string, slots: number, processor: Processor) {
  const bound = withBackend(createPostgresBackend);
  const connection = { connectionString: url, max: 5 };
  return {
    queue: new bound.Queue(name, { connection }),
    worker: new bound.Worker(name, processor, { connection, concurrency: slots }),
  };
}
