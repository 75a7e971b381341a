import { beginSteps } from "@atelier/server/batches";
import { readyGate } from "@atelier/server/gate";
import { checkStore, otherStoreReason } from "@atelier/server/images";
import { keepJobLogs } from "@atelier/server/jobs";
import { AppError, orLate } from "@atelier/server/platform";
import type { Services } from "@atelier/server/services";
import { consume, type Consumers } from "./claims.ts";
import { startDeliveries } from "./deliveries.ts";
import { startWatchOver } from "./watch-over.ts";
import type { Engine } from "./engines/index.ts";
import { createLiveOffer, type LiveOffer } from "./live-offer.ts";
import { chooseLightQueue, detectMachine, parseOnly } from "./offer.ts";
import { registerNode, shutDownNode } from "./presence.ts";
import { createRuns, type Runs } from "./runs.ts";
import { createSharedServers } from "./shared-servers.ts";
import { createServerPool } from "./servers/index.ts";
import { onceStopped, type StopWait } from "./work.ts";

export interface WorkOnceInput {
  /** Only engines without servers. */
  readonly engines: readonly Engine[];
  /** How long to wait for a job. */
  readonly waitMs: number;
}

/**
 * For short-lived machines: registers a node, claims one job from the lightest CPU queue, finishes it and shuts the node
 * down; without a job it shuts down after `waitMs`. What is due of batches it begins before it leaves, for the next one.
 * SIGINT and SIGTERM stop it like any worker.
 */
export async function workOnce(services: Services, { engines, waitMs }: WorkOnceInput): Promise<void> {
  // First, so that a signal during the start is caught too.
  const stop = onceStopped();
  const store = await checkStore(services);
  if (store !== "own")
    throw new AppError("storage_unavailable", store === "other" ? otherStoreReason : undefined);
  const jobLogs = keepJobLogs(services);
  const { runs, taken } = takeOne(createRuns());
  const offer = await openLightOffer(services, engines, runs);
  const registering = { offer, runs, isOnce: true };
  const incarnation = await registerNode(services, { workflows: [], problems: [] }, registering);
  const sharedServers = createSharedServers(services);
  const consumers = consume(services, {
    offer,
    engines,
    incarnation,
    runs,
    readiness: { isReady: () => true },
    sharedServers,
  });
  const loops = [...startWatchOver(services, { incarnation, runs }), startDeliveries(services)];
  const reason = await waitForJob({ taken, stop, waitMs });
  services.log.info({ reason }, "no further job is taken");
  runs.close();
  const closing = await closeConsumers(consumers, stop);
  const { signalled } = stop;
  await shutDownNode(services, {
    incarnation,
    runs,
    consumers: { close: () => closing.closed },
    signalled,
    othersDone: Promise.resolve(),
  });
  await Promise.all(loops.map((loop) => loop.stop()));
  offer.close();
  await Promise.all(engines.map((engine) => engine.close()));
  await beginSteps(services).catch((err: unknown) => {
    services.log.warn({ err }, "steps of batches were not begun, another worker will do it");
  });
  await jobLogs.close();
  await services.close();
}

/** The offer of a `--once` node: one slot of the lightest CPU queue, with the local engine and without servers. */
async function openLightOffer(
  services: Services,
  engines: readonly Engine[],
  runs: Runs,
): Promise<LiveOffer> {
  const { env, config, log } = services;
  await readyGate(services);
  const machine = await detectMachine();
  const queue = chooseLightQueue(config, machine);
  const needs = queue === null ? undefined : config.queues[queue];
  if (queue === null || !needs) throw new AppError("internal", "No CPU queue takes this machine.");
  return createLiveOffer({
    cloud: { models: [], providers: [], keys: [] },
    hasRoom: () => true,
    env: { ...env, WORKER_CPU_SLOTS: 1 },
    config: { ...config, queues: { [queue]: needs } },
    engines,
    pool: createServerPool({ sources: [], workflows: () => [], config, log }),
    workflows: () => [],
    machine,
    only: parseOnly(env, engines),
    runs,
  });
}

/** Runs that close after the first claim, so that only one job is taken; `taken` resolves with that claim. */
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

interface Waiting {
  readonly taken: Promise<void>;
  readonly stop: StopWait;
  readonly waitMs: number;
}

function waitForJob({ taken, stop, waitMs }: Waiting): Promise<string> {
  const reason = Promise.race([taken.then(() => "job taken"), stop.requested]);
  return orLate(reason, waitMs, () => "no job came");
}

/** Waits for the run, also for one whose claim was under way at the end of the wait; a stop request ends this wait. */
async function closeConsumers(
  consumers: Consumers,
  stop: StopWait,
): Promise<{ readonly closed: Promise<void> }> {
  const closed = consumers.close();
  await Promise.race([closed, stop.requested]);
  return { closed };
}
