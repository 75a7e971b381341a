import path from "node:path";
import { killAtExit, runNode } from "@atelier/testing/processes";
import { newId } from "@atelier/server/platform";
import { startNaive, type Naive } from "./stock.ts";
import type { Stage } from "./stage.ts";

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
