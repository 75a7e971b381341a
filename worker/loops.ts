import { findStops, handBackUnknown, readActivity, sweep, tidy } from "@atelier/server/jobs";
import { createNodeWatch } from "@atelier/server/nodes";
import type { Services } from "@atelier/server/services";
import type { ConsumeInput } from "./consume.ts";
import { startLoop, type Loop } from "./loop.ts";

const tidyMs = 60_000;

/** The worker's watch over itself and the others: lost nodes, the sweep, cancel requests, what may be removed. */
export function startLoops(
  services: Services,
  input: Pick<ConsumeInput, "incarnation" | "runs" | "oneAtATime">,
): Loop[] {
  const { timing } = services.config;
  const { runs, incarnation, oneAtATime } = input;
  const watch = createNodeWatch();
  let activeAtMs = performance.now();

  const watchNodes = startLoop(services.log, "watch", async () => {
    const lost = await watch.read(services);
    if (lost.length > 0) await sweep(services);
    return timing.watchMs;
  });

  const sweepLine = startLoop(services.log, "sweep", async () => {
    await oneAtATime(async () => {
      const node = incarnation.current();
      if (node)
        await handBackUnknown(services, {
          nodeId: node.id,
          running: runs.leases().map((lease) => lease.jobId),
        });
    });
    await sweep(services);
    const { open, claimed } = await readActivity(services);
    if (open || claimed) activeAtMs = performance.now();
    const idle = performance.now() - activeAtMs > timing.sweepIdleAfterMs;
    const jitter = 0.9 + Math.random() * 0.2;
    return (idle ? timing.sweepIdleMs : timing.sweepMs) * jitter;
  });
  services.hints.subscribe((message) => {
    if (message.type === "jobs") {
      const wasIdle = performance.now() - activeAtMs > timing.sweepIdleAfterMs;
      activeAtMs = performance.now();
      if (wasIdle) sweepLine.wake();
    }
    if (message.type === "cancel") stops.wake();
  });

  const stops = startLoop(services.log, "stops", async () => {
    const { cancelled, lost } = await findStops(services, runs.leases());
    for (const id of cancelled) runs.stop(id, "cancelled");
    for (const id of lost) runs.stop(id, "lost");
    return timing.cancelPollMs;
  });

  const tidyUp = startLoop(services.log, "tidy", async () => {
    await tidy(services);
    return tidyMs;
  });
  return [watchNodes, sweepLine, stops, tidyUp];
}
