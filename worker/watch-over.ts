import { findStops, handBackUnknown, readActivity, rering, sweep } from "@atelier/server/jobs";
import { createNodeWatch } from "@atelier/server/nodes";
import { oneAtATime } from "@atelier/server/platform";
import type { Services } from "@atelier/server/services";
import type { ConsumeInput, Consumers } from "./claims.ts";
import { type Activity, createActivity, type Loop, startLoop } from "./base/loop.ts";

type WatchOverInput = Pick<ConsumeInput, "incarnation" | "runs"> & {
  /** Claims without a bell. A `--once` worker, which takes one job only, has none. */
  readonly claimNow?: Consumers["claimNow"];
};

/** The loops of every worker, also of a `--once` worker: lost nodes, the sweep, cancel requests. */
export function startWatchOver(services: Services, input: WatchOverInput): Loop[] {
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

/** Every `watchMs`: finds lost nodes, and wakes an idle sweep when there is work. */
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

function startSweep(services: Services, input: WatchOverInput, activity: Activity) {
  const { incarnation, runs, claimNow } = input;
  const { timing } = services.config;
  let sweptNodeId: string | null = null;
  return startLoop(services.log, "sweep", async () => {
    const node = await oneAtATime(incarnation, async () => {
      const current = incarnation.current();
      const running = runs.leases().map((lease) => lease.jobId);
      if (current) await handBackUnknown(services, { nodeId: current.id, running });
      return current;
    });
    await sweep(services);
    // A predecessor may have died with taken bells: ring again now instead of waiting until they are old.
    if (node && node.id !== sweptNodeId) await rering(services, 0);
    sweptNodeId = node?.id ?? null;
    // Also without a bell: after a fault the connection that bells arrive on may take longer to come back than this one.
    if (!activity.isIdle()) claimNow?.();
    const jitter = 0.9 + Math.random() * 0.2;
    return (activity.isIdle() ? timing.sweepIdleMs : timing.sweepMs) * jitter;
  });
}

function startStops(services: Services, { runs }: WatchOverInput): Loop {
  return startLoop(services.log, "stops", async () => {
    const { cancelled, lost } = await findStops(services, runs.leases());
    for (const lease of cancelled) runs.stop(lease, "cancelled");
    for (const lease of lost) runs.stop(lease, "lost");
    return services.config.timing.cancelPollMs;
  });
}
