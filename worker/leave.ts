import { drain, retire } from "@atelier/server/nodes";
import type { Services } from "@atelier/server/services";
import type { Consumers } from "./consume.ts";
import type { Incarnation } from "./incarnation.ts";
import type { Runs } from "./runs.ts";

/** Before the grace time ends, runs that are not done are handed back. */
const handBackLeadMs = 5_000;

interface Leaving {
  readonly incarnation: Incarnation;
  readonly runs: Runs;
  readonly consumers: Pick<Consumers, "close">;
}

/** The node beats until its jobs are done and only then is gone (A17). */
export async function leave(services: Services, { incarnation, runs, consumers }: Leaving): Promise<void> {
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
