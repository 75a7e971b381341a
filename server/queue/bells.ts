import { setTimeout as sleep } from "node:timers/promises";
import type { Processor, Queue, Worker, WorkerOptions } from "bullmq";
import type { Bell, BellConsumer, Bells, OnConnectionError, QueueConnection } from "./index.ts";
import { endInTime, postgresBells } from "./postgres.ts";
import { redisBells } from "./redis.ts";
import { isRefusal } from "./redis-faults.ts";

/** BullMQ over one kind of server. */
export interface BellBackend {
  /** True while an earlier connection is lost. */
  isAway(): boolean;
  openQueue(name: string): QueueHandle;
  openWorker(name: string, onBell: Processor, options: Omit<WorkerOptions, "connection">): WorkerHandle;
  ping(): Promise<void>;
  close(): Promise<void>;
}

type QueueHandle = Pick<Queue, "add" | "addBulk" | "close" | "waitUntilReady"> &
  Pick<NodeJS.EventEmitter, "on">;

interface WorkerHandle {
  readonly worker: Pick<Worker, "run" | "close" | "concurrency" | "waitUntilReady"> &
    Pick<NodeJS.EventEmitter, "on">;
  /** Closes the connections of the worker, also when it could not stop in order. */
  readonly disconnect: () => void;
}

/** A bell takes as long as one claim; a stalled bell is harmless, because the sweep rings again. */
const workerTiming = { lockDuration: 30_000, stalledInterval: 30_000, maxStalledCount: 1, drainDelay: 5 };
const bellOptions = { removeOnComplete: true, removeOnFail: true, attempts: 1 };

interface BellOptions {
  readonly onError: OnConnectionError;
  /** Rings when a lost connection is back, as in a function: its connections end while it is frozen. */
  readonly isPatient?: boolean;
}

/** Opens the bells of a process. Queues connect on the first ring, workers when they consume. */
export function createBells(connection: QueueConnection, { onError, isPatient = false }: BellOptions): Bells {
  const { backend: kind, url } = connection;
  const backend = kind === "redis" ? redisBells(url, { onError, isPatient }) : postgresBells(url, onError);
  const queues = new Map<string, QueueHandle>();
  const queueOf = (name: string) => {
    const known = queues.get(name);
    if (known) return known;
    const queue = backend.openQueue(name);
    queue.on("error", onError);
    queues.set(name, queue);
    // BullMQ remembers a failed first connection for ever, so the next ring opens the queue anew.
    queue.waitUntilReady().catch(() => {
      if (queues.get(name) === queue) queues.delete(name);
      queue.close().catch(onError);
    });
    return queue;
  };
  return {
    async ring(name, bells) {
      if (bells.length === 0) return;
      // Fails at once: a submit must not wait for the reconnect, and the sweep rings again.
      if (backend.isAway() && !isPatient) throw new Error("the queue is away");
      await add(queueOf(name), bells.map(toJob));
    },
    consume(name, slots, onBell) {
      const underWay = new Set<Promise<void>>();
      const answer = async (bell: Bell) => {
        const answered = onBell(bell);
        underWay.add(answered);
        await answered.finally(() => underWay.delete(answered));
      };
      const removed = { removeOnComplete: { count: 0 }, removeOnFail: { count: 0 } };
      const options = { ...workerTiming, ...removed, autorun: false };
      const open = (concurrency: number) =>
        backend.openWorker(name, (job) => answer(job.data), { ...options, concurrency });
      return keepWorker({ open, slots, underWay, onError });
    },
    ping: () => backend.ping(),
    async close() {
      // Closing would wait for a server that is away; only bells are lost without it.
      if (!backend.isAway()) await endInTime(Promise.all([...queues.values()].map((queue) => queue.close())));
      await backend.close();
    },
  };
}

interface KeptWorker {
  readonly open: (slots: number) => WorkerHandle;
  readonly slots: number;
  /** The answers that a stop waits for. */
  readonly underWay: ReadonlySet<Promise<void>>;
  readonly onError: OnConnectionError;
}

const firstRetryMs = 250;
const lastRetryMs = 5_000;

/**
 * Runs a worker once it is connected, and opens another when it could not connect: BullMQ remembers a failed first
 * connection for ever. A server that answers and refuses gets another one after a pause as well: BullMQ would ask it
 * thousands of times a second.
 */
function keepWorker({ open, slots, underWay, onError }: KeptWorker): BellConsumer {
  const closed = new AbortController();
  let atOnce = slots;
  let onRefusal = () => {};
  const openOne = () => {
    const one = open(atOnce);
    one.worker.on("error", (error: Error) => {
      onError(error);
      if (one === handle && isRefusal(error)) onRefusal();
    });
    return one;
  };
  let handle = openOne();
  const runOne = async () => {
    const refused = new Promise<"refused">((resolve) => (onRefusal = () => resolve("refused")));
    const ended = handle.worker.waitUntilReady().then(() => handle.worker.run());
    // It may end after a refusal, when the next worker is waited for.
    ended.catch(() => undefined);
    return Promise.race([refused, ended]);
  };
  const run = async () => {
    for (let waitMs = firstRetryMs; !closed.signal.aborted; waitMs = Math.min(lastRetryMs, waitMs * 2)) {
      const sinceMs = performance.now();
      try {
        if ((await runOne()) !== "refused") return;
      } catch (error) {
        onError(error instanceof Error ? error : new Error(String(error)));
      }
      if (performance.now() - sinceMs > lastRetryMs) waitMs = firstRetryMs;
      handle.disconnect();
      await sleep(waitMs, undefined, { signal: closed.signal }).catch(() => undefined);
      if (!closed.signal.aborted) handle = openOne();
    }
  };
  void run();
  return {
    setSlots(next) {
      atOnce = next;
      if (handle.worker.concurrency !== next) handle.worker.concurrency = next;
    },
    close() {
      closed.abort();
      return closeWorker(handle, underWay);
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
