import { setTimeout as sleep } from "node:timers/promises";
import type { WorkerHandle } from "./bell-backend.ts";

/** Once no bell is under way, closing in order gets this long: a queue that is away must not hold up a stop. */
const closeMs = 2_000;

/** Takes no new bells, waits for those under way, and ends the connections. */
export async function closeWorker(
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
