import { AppError } from "@atelier/server/platform";
import type { Services } from "@atelier/server/services";
import type { Engine } from "../engines/index.ts";
import {
  chooseLightQueue,
  createLiveOffer,
  detectMachine,
  parseOnly,
  type LiveOffer,
} from "../offer/index.ts";
import type { Runs } from "../runs.ts";
import { createServerPool } from "../servers/index.ts";

/** What a node without a long life offers: one job of the lightest CPU queue, by this computer's engine; no servers. */
export async function openLightOffer(
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
