import { setTimeout as sleep } from "node:timers/promises";
import type { Services } from "@atelier/server/services";
import { consume, type Consumers } from "./claims.ts";
import type { Engine } from "./engines/index.ts";
import { enter } from "./enter.ts";
import { leave } from "./leave.ts";
import { startWatchOver } from "./duties.ts";
import { createMutex } from "./mutex.ts";
import { createRuns } from "./runs.ts";
import { createServerLeases } from "./server-leases.ts";
import { onceStopped, type StopWait } from "./stop-signal.ts";
import { openLightOffer } from "./once/open-light-offer.ts";
import { takeOne } from "./once/take-one.ts";

export interface WorkOnceInput {
  /** Those that need no servers. */
  readonly engines: readonly Engine[];
  /** How long it waits for a job. */
  readonly waitMs: number;
}

/**
 * For machines without a long life (D4): registers, takes one job from the lightest CPU queue, finishes it and leaves in
 * order; without a job it leaves after `waitMs`. SIGINT and SIGTERM end it as any worker (A17).
 */
export async function workOnce(services: Services, { engines, waitMs }: WorkOnceInput): Promise<void> {
  // First of all: a signal while it starts must find it listening.
  const stop = onceStopped();
  const { runs, taken } = takeOne(createRuns());
  const offer = await openLightOffer(services, engines, runs);
  const oneAtATime = createMutex();
  const entering = { offer, runs, isOnce: true };
  const incarnation = await enter(services, { workflows: [], problems: [] }, entering);
  const serverLeases = createServerLeases(services);
  const consumers = consume(services, { offer, engines, incarnation, runs, serverLeases, oneAtATime });
  const loops = startWatchOver(services, { incarnation, runs, oneAtATime });
  const reason = await waitForJob({ taken, stop, waitMs });
  services.log.info({ reason }, "no further job is taken");
  runs.close();
  const closing = await finish(consumers, stop);
  const { signalled } = stop;
  await leave(services, { incarnation, runs, consumers: { close: () => closing.closed }, signalled });
  await Promise.all(loops.map((loop) => loop.stop()));
  offer.close();
  await Promise.all(engines.map((engine) => engine.close()));
  await services.close();
}

interface Waiting {
  readonly taken: Promise<void>;
  readonly stop: StopWait;
  readonly waitMs: number;
}

async function waitForJob({ taken, stop, waitMs }: Waiting): Promise<string> {
  const over = new AbortController();
  const late = sleep(waitMs, "no job came", { signal: over.signal }).catch(() => "over");
  const reason = await Promise.race([taken.then(() => "job taken"), stop.requested, late]);
  over.abort();
  return reason;
}

/** Closing waits for the run, and for a claim that was under way when the time was over; a stop cuts the wait short. */
async function finish(consumers: Consumers, stop: StopWait): Promise<{ readonly closed: Promise<void> }> {
  const closed = consumers.close();
  await Promise.race([closed, stop.requested]);
  return { closed };
}
