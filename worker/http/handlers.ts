import { readOrders } from "@atelier/server/nodes";
import { newId } from "@atelier/server/platform";
import type { Services } from "@atelier/server/services";
import type { Answer, Call } from "./call.ts";
import type { WorkerView } from "./worker-view.ts";

/** A part that answers later than this counts as away. */
const probeTimeoutMs = 3_000;

/** GET /health: 200 while the worker takes jobs, 503 while it starts, leaves, is drained, has a full disk, or a part is away. */
export async function readHealth({ services, worker }: Call): Promise<Answer> {
  const node = worker?.incarnation.current() ?? null;
  const [orders, queue] = await Promise.all([
    // Asked even without a row of its own, to learn whether the database answers.
    probe(services, "database", () => readOrders(services, node?.id ?? newId())),
    probe(services, "queue", () => services.bells.ping()),
  ]);
  const state = node ? (orders.value?.state ?? null) : "starting";
  const space = spaceOf(worker);
  const isOk = state === "active" && queue.ok && space.ok;
  const json = {
    status: isOk ? "ok" : "unavailable",
    node: node && { id: node.id, name: node.name },
    state,
    database: { ok: orders.ok },
    queue: { ok: queue.ok },
    space,
    ...(worker ? describe(worker) : {}),
  };
  return { status: isOk ? 200 : 503, headers: { "cache-control": "no-store" }, json };
}

const spaceOf = (worker: WorkerView | null) =>
  worker
    ? { ok: worker.space.isEnough(), freeBytes: worker.space.freeBytes() }
    : { ok: true, freeBytes: null };

async function probe<Value>(
  { log }: Services,
  part: string,
  ask: () => Promise<Value>,
): Promise<{ ok: boolean; value: Value | null }> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`no answer within ${probeTimeoutMs} ms`)), probeTimeoutMs);
  try {
    return { ok: true, value: await Promise.race([ask(), late]) };
  } catch (error) {
    log.warn({ err: error, part }, "health check failed");
    return { ok: false, value: null };
  } finally {
    clearTimeout(timer);
  }
}

function describe({ offer, runs, pool }: WorkerView) {
  return {
    queues: offer.current().queues.map(({ queue, slots }) => ({ queue, slots, running: runs.count(queue) })),
    servers: pool.list().map(({ label, engine, state, jobId, queueLength, lastError }) => {
      return { server: label, engine, state, jobId, queueLength, lastError };
    }),
  };
}
