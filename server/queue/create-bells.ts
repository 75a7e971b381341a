import {
  createPostgresBackend,
  Queue,
  Worker,
  withBackend,
  type Processor,
  type WorkerOptions,
} from "bullmq";
import { Redis } from "ioredis";
import type { OnConnectionError, QueueConnection } from "./connection.ts";
import type { Bell, Bells } from "./port.ts";

const prefix = "atelier";
/** A bell is over in one claim; a stalled one is harmless, because the sweep rings again. */
const workerTiming = { lockDuration: 30_000, stalledInterval: 30_000, maxStalledCount: 1, drainDelay: 5 };

interface Backend {
  openQueue(name: string): QueueHandle;
  openWorker(name: string, onBell: Processor, options: Omit<WorkerOptions, "connection">): WorkerHandle;
  ping(): Promise<void>;
  close(): Promise<void>;
}

type QueueHandle = Pick<Queue, "addBulk" | "close"> & Pick<NodeJS.EventEmitter, "on">;
type WorkerHandle = Pick<Worker, "close"> & Pick<NodeJS.EventEmitter, "on">;

function redisBackend(url: string, onError: OnConnectionError): Backend {
  const connect = () => {
    const client = new Redis(url, { maxRetriesPerRequest: null, connectTimeout: 5_000, lazyConnect: true });
    client.on("error", onError);
    return client;
  };
  const shared = connect();
  return {
    openQueue: (name) => new Queue(name, { connection: shared, prefix, skipMetasUpdate: true }),
    openWorker: (name, onBell, options) =>
      new Worker(name, onBell, { ...options, connection: connect(), prefix }),
    ping: async () => {
      await shared.ping();
    },
    close: async () => {
      shared.disconnect();
      await Promise.resolve();
    },
  };
}

function postgresBackend(url: string): Backend {
  const { Queue: PostgresQueue, Worker: PostgresWorker } = withBackend(createPostgresBackend);
  const connection = {
    connectionString: url,
    max: 3,
    connectionTimeoutMillis: 5_000,
    idle_in_transaction_session_timeout: 15_000,
  };
  return {
    openQueue: (name) => new PostgresQueue(name, { connection }),
    openWorker: (name, onBell, options) => new PostgresWorker(name, onBell, { ...options, connection }),
    ping: () => Promise.resolve(),
    close: () => Promise.resolve(),
  };
}

function jobIdOf(bell: Bell): string {
  return `job-${bell.jobId}-${bell.attempt}-${bell.ring}`;
}

/** Opens the bells of a process. Queues connect on the first ring, workers when they consume. */
export function createBells(connection: QueueConnection, onError: OnConnectionError): Bells {
  const backend =
    connection.backend === "redis" ? redisBackend(connection.url, onError) : postgresBackend(connection.url);
  const queues = new Map<string, QueueHandle>();
  const queueOf = (name: string) => {
    const known = queues.get(name);
    if (known) return known;
    const queue = backend.openQueue(name);
    queue.on("error", onError);
    queues.set(name, queue);
    return queue;
  };
  return {
    async ring(name, bells) {
      if (bells.length === 0) return;
      const options = { removeOnComplete: true, removeOnFail: true, attempts: 1 };
      await queueOf(name).addBulk(
        bells.map((bell) => ({ name: "bell", data: bell, opts: { ...options, jobId: jobIdOf(bell) } })),
      );
    },
    consume(name, slots, onBell) {
      const worker = backend.openWorker(name, (job) => onBell(job.data), {
        concurrency: slots,
        ...workerTiming,
        removeOnComplete: { count: 0 },
        removeOnFail: { count: 0 },
      });
      worker.on("error", onError);
      return { close: () => worker.close() };
    },
    ping: () => backend.ping(),
    async close() {
      await Promise.all([...queues.values()].map((queue) => queue.close()));
      await backend.close();
    },
  };
}
