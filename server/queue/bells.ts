import { setTimeout as sleep } from "node:timers/promises";
import type { Processor, Queue, Worker, WorkerOptions } from "bullmq";
import type { Bell, Bells, OnConnectionError, QueueConnection } from "./index.ts";
import { postgresBells } from "./postgres.ts";
import { redisBells } from "./redis.ts";

/** BullMQ over one kind of server. */
export interface BellBackend {
  /** True while an earlier connection is lost. */
  isAway(): boolean;
  openQueue(name: string): QueueHandle;
  openWorker(name: string, onBell: Processor, options: Omit<WorkerOptions, "connection">): WorkerHandle;
  ping(): Promise<void>;
  close(): Promise<void>;
}

type QueueHandle = Pick<Queue, "add" | "addBulk" | "close"> & Pick<NodeJS.EventEmitter, "on">;

interface WorkerHandle {
  readonly worker: Pick<Worker, "close" | "concurrency"> & Pick<NodeJS.EventEmitter, "on">;
  /** Closes the connections of the worker, also when it could not stop in order. */
  readonly disconnect: () => void;
}

/** A bell takes as long as one claim; a stalled bell is harmless, because the sweep rings again. */
const workerTiming = { lockDuration: 30_000, stalledInterval: 30_000, maxStalledCount: 1, drainDelay: 5 };
const bellOptions = { removeOnComplete: true, removeOnFail: true, attempts: 1 };

/** Opens the bells of a process. Queues connect on the first ring, workers when they consume. */
export function createBells(connection: QueueConnection, onError: OnConnectionError): Bells {
  const open = connection.backend === "redis" ? redisBells : postgresBells;
  const backend = open(connection.url, onError);
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
      // Fails at once: a submit must not wait for the reconnect, and the sweep rings again.
      if (backend.isAway()) throw new Error("the queue is away");
      await add(queueOf(name), bells.map(toJob));
    },
    consume(name, slots, onBell) {
      const underWay = new Set<Promise<void>>();
      const answer = async (bell: Bell) => {
        const answered = onBell(bell);
        underWay.add(answered);
        await answered.finally(() => underWay.delete(answered));
      };
      const options = { ...workerTiming, removeOnComplete: { count: 0 }, removeOnFail: { count: 0 } };
      const handle = backend.openWorker(name, (job) => answer(job.data), { ...options, concurrency: slots });
      handle.worker.on("error", onError);
      return {
        setSlots(atOnce) {
          if (handle.worker.concurrency !== atOnce) handle.worker.concurrency = atOnce;
        },
        close: () => closeWorker(handle, underWay),
      };
    },
    ping: () => backend.ping(),
    async close() {
      // Closing would wait for a server that is away; only bells are lost without it.
      if (!backend.isAway()) await Promise.all([...queues.values()].map((queue) => queue.close()));
      await backend.close();
    },
  };
}

function toJob(bell: Bell) {
  const jobId = `job-${bell.jobId}-${bell.attempt}-${bell.ring}`;
  return { name: "bell", data: bell, opts: { ...bellOptions, jobId } };
}

/** Adds a single bell, the usual case, without the bulk call: on PostgreSQL 3 ms instead of 10. */
async function add(queue: QueueHandle, jobs: readonly ReturnType<typeof toJob>[]): Promise<void> {
  const [job, ...others] = jobs;
  if (job && others.length === 0) await queue.add(job.name, job.data, job.opts);
  else await queue.addBulk([...jobs]);
}

/** Time to close in order after the last bell: a queue that is away must not delay a stop. */
const closeMs = 2_000;

/** Takes no new bells, waits for the current ones, and closes the connections. */
async function closeWorker(
  { worker, disconnect }: WorkerHandle,
  underWay: ReadonlySet<Promise<void>>,
): Promise<void> {
  const late = new AbortController();
  const closed = worker.close().finally(() => late.abort());
  const patience = async () => {
    await Promise.allSettled(underWay);
    await sleep(closeMs, undefined, { signal: late.signal }).catch(() => undefined);
  };
  await Promise.race([closed, patience()]);
  disconnect();
}
