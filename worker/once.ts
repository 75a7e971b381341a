import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "@atelier/server/platform";
import type { Services } from "@atelier/server/services";
import { consume, type Consumers } from "./claims.ts";
import { startWatchOver } from "./duties.ts";
import type { Engine } from "./engines/index.ts";
import { chooseLightQueue, createLiveOffer, detectMachine, type LiveOffer, parseOnly } from "./live-offer.ts";
import { registerNode, shutDownNode } from "./presence.ts";
import { createRuns, type Runs } from "./runs.ts";
import { createServerLeases } from "./server-leases.ts";
import { createServerPool } from "./servers/index.ts";
import { createMutex, onceStopped, type StopWait } from "./work.ts";

/** What a node without a long life offers: one job of the lightest CPU queue, by this computer's engine; no servers. */
async function openLightOffer(
  { env, config, log }: Services,
  engines: readonly Engine[],
  runs: Runs,
): Promise<LiveOffer> {
  const machine = await detectMachine();
  const queue = chooseLightQueue(config, machine);
  const needs = queue === null ? undefined : config.queues[queue];
  if (queue === null || !needs) throw new AppError("internal", "No CPU queue takes this machine.");
  return createLiveOffer({
    env: { ...env, WORKER_CPU_SLOTS: 1 },
    config: { ...config, queues: { [queue]: needs } },
    engines,
    pool: createServerPool({ sources: [], workflows: () => [], config, log }),
    workflows: [],
    machine,
    only: parseOnly(env, engines),
    runs,
  });
}

/** Runs that take one job alone: the door shuts with its claim. `taken` resolves then. */
function takeOne(runs: Runs): { readonly runs: Runs; readonly taken: Promise<void> } {
  const { promise: taken, resolve } = Promise.withResolvers<void>();
  return {
    taken,
    runs: {
      ...runs,
      add(slot, work) {
        runs.close();
        resolve();
        return runs.add(slot, work);
      },
    },
  };
}

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
  const claimLock = createMutex();
  const registering = { offer, runs, isOnce: true };
  const incarnation = await registerNode(services, { workflows: [], problems: [] }, registering);
  const serverLeases = createServerLeases(services);
  const consumers = consume(services, { offer, engines, incarnation, runs, serverLeases, claimLock });
  const loops = startWatchOver(services, { incarnation, runs, claimLock });
  const reason = await waitForJob({ taken, stop, waitMs });
  services.log.info({ reason }, "no further job is taken");
  runs.close();
  const closing = await finish(consumers, stop);
  const { signalled } = stop;
  await shutDownNode(services, { incarnation, runs, consumers: { close: () => closing.closed }, signalled });
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
