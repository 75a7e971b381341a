import os from "node:os";
import type { NodeProblem } from "@atelier/server/db";
import { drain, retire } from "@atelier/server/nodes";
import type { Services } from "@atelier/server/services";
import type { Workflow } from "@atelier/server/workflows";
import { consume, type ConsumeInput, type Consumers } from "./consume.ts";
import type { Engine } from "./engines/index.ts";
import { startIncarnation, type Incarnation } from "./incarnation.ts";
import { startLoops } from "./loops.ts";
import { createMutex } from "./mutex.ts";
import { createLiveOffer, detectMachine, parseOnly, type LiveOffer } from "./offer/index.ts";
import { followOffer, startOrders } from "./orders.ts";
import { createRuns, type Runs } from "./runs.ts";
import { followServers } from "./follow-servers.ts";
import type { ServerPool } from "./servers/index.ts";
import { onceStopped } from "./stop-signal.ts";

/** Before the grace time ends, runs that are not done are handed back. */
const handBackLeadMs = 5_000;

export { loadWorkflows } from "./load-workflows.ts";

export interface WorkInput {
  readonly engines: readonly Engine[];
  readonly pool: ServerPool;
  /** Built-in ones and those of this node's own folder. */
  readonly workflows: readonly Workflow[];
  /** What was not taken of that folder. */
  readonly problems: readonly NodeProblem[];
}

/** Runs until SIGINT, SIGTERM or an admin's word; then takes nothing new, ends or hands back its jobs and leaves in order (A17). */
export async function work(services: Services, input: WorkInput): Promise<void> {
  const { engines, pool } = input;
  const runs = createRuns();
  const offer = await openOffer(services, input, runs);
  const oneAtATime = createMutex();
  const incarnation = await enter(services, input, { offer, runs });
  const consumeInput: ConsumeInput = { offer, engines, incarnation, runs, oneAtATime };
  const consumers = consume(services, consumeInput);
  void pool.start();
  const stop = onceStopped();
  const loops = [
    ...startLoops(services, { incarnation, runs, oneAtATime }),
    followOffer(services, { incarnation, offer, consumers }),
    followServers(services, { incarnation, pool, consumers }),
    startOrders(services, { incarnation, offer, pool, consumers, onRetire: () => stop.request() }),
  ];
  const reason = await stop.requested;
  services.log.info({ reason, runs: runs.leases().length }, "stopping");
  await leave(services, { incarnation, runs, consumers });
  await Promise.all(loops.map((loop) => loop.stop()));
  offer.close();
  await pool.stop();
  await Promise.all(engines.map((engine) => engine.close()));
  await services.close();
}

async function openOffer(services: Services, input: WorkInput, runs: Runs): Promise<LiveOffer> {
  const { env, config } = services;
  const { engines, pool, workflows } = input;
  return createLiveOffer({
    env,
    config,
    engines,
    pool,
    workflows,
    machine: await detectMachine(),
    only: parseOnly(env, engines),
    localRuns: () => runs.countOfEngine("local"),
  });
}

/** Registers the node; when it is called lost its runs end before it comes back as a new one. */
function enter(
  services: Services,
  { workflows, problems }: WorkInput,
  { offer, runs }: { offer: LiveOffer; runs: Runs },
): Promise<Incarnation> {
  return startIncarnation(services, {
    name: services.env.WORKER_NAME ?? os.hostname(),
    offer: () => offer.current(),
    workflows: workflows.filter(({ isBuiltIn }) => !isBuiltIn),
    problems,
    onRegistered: (node) => offer.refuse(node.problems.map(({ what }) => what)),
    onLost: async () => {
      runs.stopAll("lost");
      await runs.settled();
    },
  });
}

/** The node beats until its jobs are done and only then is gone. */
async function leave(
  services: Services,
  { incarnation, runs, consumers }: { incarnation: Incarnation; runs: Runs; consumers: Consumers },
): Promise<void> {
  runs.close();
  const handBackMs = Math.max(0, services.config.timing.stopGraceMs - handBackLeadMs);
  const handBack = setTimeout(() => runs.stopAll("stopping"), handBackMs);
  const draining = incarnation.current();
  if (draining)
    await drain(services, draining.id).catch((error: unknown) =>
      services.log.warn({ err: error }, "not drained"),
    );
  await consumers.close();
  await runs.settled();
  clearTimeout(handBack);
  await incarnation.stop();
  // Read again: the node may have been called lost meanwhile and be another one now.
  const last = incarnation.current();
  if (last)
    await retire(services, last.id).catch((error: unknown) =>
      services.log.warn({ err: error }, "not retired"),
    );
}
