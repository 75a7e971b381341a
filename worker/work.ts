import type { Services } from "@atelier/server/services";
import { consume, type ConsumeInput } from "./claims.ts";
import { startLoops } from "./duties.ts";
import { enter } from "./enter.ts";
import { followNode } from "./follow-node.ts";
import { openWorkerHttp } from "./http/index.ts";
import { leave } from "./leave.ts";
import { createMutex } from "./mutex.ts";
import { createLiveOffer, detectMachine, type LiveOffer, parseOnly } from "./offer/index.ts";
import { startAwaiting, startOrders, startRepublishing } from "./orders.ts";
import { createRuns, type Runs } from "./runs.ts";
import { createServerLeases } from "./server-leases.ts";
import { createSpace, startSpaceWatch } from "./space.ts";
import { onceStopped, type StopCause } from "./stop-signal.ts";
import { startStrays } from "./strays.ts";
import type { WorkInput } from "./work-input.ts";

export { endProcess } from "./end-process.ts";
export { loadWorkflows } from "./load-workflows.ts";
export type { WorkInput } from "./work-input.ts";

/**
 * Runs until SIGINT, SIGTERM or an admin's word; then takes nothing new, ends or hands back its jobs and leaves in order
 * (A17). Gives back why: `retired` only when no signal came as well.
 */
export async function work(services: Services, input: WorkInput): Promise<StopCause> {
  // First of all: a signal while it starts must find it listening.
  const stop = onceStopped();
  const { engines, pool } = input;
  const runs = createRuns();
  const offer = await openOffer(services, input, runs);
  const http = await openWorkerHttp(services);
  const oneAtATime = createMutex();
  const space = createSpace(services);
  await space.refresh();
  const incarnation = await enter(services, input, { offer, runs });
  http?.show({ incarnation, offer, runs, pool, space });
  const serverLeases = createServerLeases(services);
  const consumeInput: ConsumeInput = { offer, engines, incarnation, runs, serverLeases, oneAtATime };
  const consumers = consume(services, consumeInput);
  consumers.setActive(space.isEnough());
  void pool.start();
  const loops = [
    ...startLoops(services, { incarnation, runs, oneAtATime }),
    followNode(services, { incarnation, offer, pool, consumers }),
    serverLeases.follow(pool, incarnation),
    startStrays(services, pool),
    startSpaceWatch(services, { space, incarnation }),
    startAwaiting(services, pool),
    startRepublishing(services, { incarnation, offer, workflows: input.workflows }),
    startOrders(services, { incarnation, offer, pool, consumers, space, onRetire: () => stop.retire() }),
  ];
  const reason = await stop.requested;
  services.log.info({ reason, runs: runs.leases().length }, "stopping");
  await Promise.all([
    http?.close(),
    leave(services, { incarnation, runs, consumers, signalled: stop.signalled }),
  ]);
  await Promise.all(loops.map((loop) => loop.stop()));
  offer.close();
  await pool.stop();
  await Promise.all(engines.map((engine) => engine.close()));
  await services.close();
  // A signal that has come is the first of the two that are settled.
  return Promise.race([stop.signalled, Promise.resolve("retired" as const)]);
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
    runs,
  });
}
