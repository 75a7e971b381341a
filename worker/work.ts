import os from "node:os";
import { drain, retire } from "@atelier/server/nodes";
import type { Services } from "@atelier/server/services";
import { detectOffer } from "./capability.ts";
import { consume } from "./consume.ts";
import type { Engine } from "./engines/index.ts";
import { startIncarnation, type Incarnation } from "./incarnation.ts";
import { startLoops } from "./loops.ts";
import { createMutex } from "./mutex.ts";
import { createRuns } from "./runs.ts";
import { onceStopped } from "./stop-signal.ts";

/** Before the grace time ends, runs that are not done are handed back. */
const handBackLeadMs = 5_000;

/** Runs until SIGINT or SIGTERM; then takes nothing new, ends or hands back its jobs and leaves in order (A17). */
export async function work(services: Services, engines: readonly Engine[]): Promise<void> {
  const { env, config } = services;
  const offer = detectOffer(env, config, engines);
  const runs = createRuns();
  const oneAtATime = createMutex();
  const incarnation = await startIncarnation(services, {
    name: env.WORKER_NAME ?? os.hostname(),
    offer,
    onLost: async () => {
      runs.stopAll("lost");
      await runs.settled();
    },
  });
  const consumer = consume(services, { offer, engines, incarnation, runs, oneAtATime });
  const loops = startLoops(services, { incarnation, runs, oneAtATime });

  const signal = await onceStopped();
  services.log.info({ signal, runs: runs.leases().length }, "stopping");
  runs.close();
  const handBack = setTimeout(
    () => runs.stopAll("stopping"),
    Math.max(0, config.timing.stopGraceMs - handBackLeadMs),
  );
  await leave(services, incarnation, async () => {
    await consumer.close();
    await runs.settled();
  });
  clearTimeout(handBack);
  await Promise.all(loops.map((loop) => loop.stop()));
  await Promise.all(engines.map((engine) => engine.close()));
  await services.close();
}

/** The node beats until its jobs are done and only then is gone. */
async function leave(
  services: Services,
  incarnation: Incarnation,
  settle: () => Promise<void>,
): Promise<void> {
  const draining = incarnation.current();
  if (draining)
    await drain(services, draining.id).catch((error: unknown) =>
      services.log.warn({ err: error }, "not drained"),
    );
  await settle();
  await incarnation.stop();
  // Read again: the node may have been called lost meanwhile and be another one now.
  const last = incarnation.current();
  if (last)
    await retire(services, last.id).catch((error: unknown) =>
      services.log.warn({ err: error }, "not retired"),
    );
}
