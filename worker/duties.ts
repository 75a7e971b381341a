import { findStops, handBackUnknown, readActivity, rering, sweep, tidy } from "@atelier/server/jobs";
import { sweepOrphanObjects } from "@atelier/server/images";
import { rollUp } from "@atelier/server/monitoring";
import { createNodeWatch } from "@atelier/server/nodes";
import type { Services } from "@atelier/server/services";
import { createActivity, type Activity } from "./activity.ts";
import type { ConsumeInput } from "./claims.ts";
import { startLoop, type Loop } from "./loop.ts";

const tidyMs = 60_000;
/** It lists the whole store, so it runs rarely; what it looks for is an hour old in any case. */
const orphansMs = 15 * 60_000;

type LoopsInput = Pick<ConsumeInput, "incarnation" | "runs" | "oneAtATime">;

/** All that a worker repeats: its watch over itself and the others, and what may be removed. */
export function startLoops(services: Services, input: LoopsInput): Loop[] {
  const tidying = startLoop(services.log, "tidy", async () => {
    await tidy(services);
    await rollUp(services);
    return tidyMs;
  });
  const orphans = startLoop(services.log, "orphans", async () => {
    await sweepOrphanObjects(services);
    return orphansMs;
  });
  return [...startWatchOver(services, input), tidying, orphans];
}

/** The worker's watch over itself and the others: lost nodes, the sweep, cancel requests. */
export function startWatchOver(services: Services, input: LoopsInput): Loop[] {
  const activity = createActivity(services.config.timing.sweepIdleAfterMs);
  const sweeping = startSweep(services, input, activity);
  const watching = startWatch(services, { activity, sweeping });
  const stops = startStops(services, input);
  services.hints.subscribe((message) => {
    if (message.type === "jobs" && activity.note()) sweeping.wake();
    if (message.type === "cancel") stops.wake();
  });
  return [watching, sweeping, stops];
}

/** Every second: lost nodes, and work that nobody rang for while the sweep was resting. */
function startWatch(
  services: Services,
  { activity, sweeping }: { activity: Activity; sweeping: Loop },
): Loop {
  const watch = createNodeWatch();
  return startLoop(services.log, "watch", async () => {
    const lost = await watch.read(services);
    const { open, claimed } = await readActivity(services);
    const hasWork = open || claimed;
    if (lost.length > 0 || (hasWork && activity.note())) sweeping.wake();
    return services.config.timing.watchMs;
  });
}

function startSweep(services: Services, { incarnation, runs, oneAtATime }: LoopsInput, activity: Activity) {
  const { timing } = services.config;
  let greeted: string | null = null;
  return startLoop(services.log, "sweep", async () => {
    const node = await oneAtATime(async () => {
      const current = incarnation.current();
      const running = runs.leases().map((lease) => lease.jobId);
      if (current) await handBackUnknown(services, { nodeId: current.id, running });
      return current;
    });
    await sweep(services);
    // A predecessor may have died with the bells in its hands: a new node need not wait until they are old.
    if (node && node.id !== greeted) await rering(services, 0);
    greeted = node?.id ?? null;
    const jitter = 0.9 + Math.random() * 0.2;
    return (activity.isIdle() ? timing.sweepIdleMs : timing.sweepMs) * jitter;
  });
}

function startStops(services: Services, { runs }: LoopsInput): Loop {
  return startLoop(services.log, "stops", async () => {
    const { cancelled, lost } = await findStops(services, runs.leases());
    for (const lease of cancelled) runs.stop(lease, "cancelled");
    for (const lease of lost) runs.stop(lease, "lost");
    return services.config.timing.cancelPollMs;
  });
}
