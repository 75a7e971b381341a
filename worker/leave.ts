import { setTimeout as sleep } from "node:timers/promises";
import { drain, retire } from "@atelier/server/nodes";
import type { Services } from "@atelier/server/services";
import type { Consumers } from "./claims.ts";
import type { Incarnation } from "./presence.ts";
import type { Runs } from "./runs.ts";

/** Before the grace time ends, runs that are not done are handed back. */
const handBackLeadMs = 5_000;

interface Leaving {
  readonly incarnation: Incarnation;
  readonly runs: Runs;
  readonly consumers: Pick<Consumers, "close">;
  /** Resolves when the grace time begins; a node that is only retired has none and finishes its jobs. */
  readonly signalled: Promise<unknown>;
}

/** The node beats until its jobs are done and only then is gone (A17). */
export async function leave(services: Services, leaving: Leaving): Promise<void> {
  const { incarnation, runs, consumers } = leaving;
  runs.close();
  const handBackMs = Math.max(0, services.config.timing.stopGraceMs - handBackLeadMs);
  const over = new AbortController();
  void leaving.signalled
    .then(() => sleep(handBackMs, undefined, { signal: over.signal }))
    .then(() => runs.stopAll("stopping"))
    .catch(() => undefined);
  const draining = incarnation.current();
  if (draining)
    await drain(services, draining.id).catch((error: unknown) =>
      services.log.warn({ err: error }, "not drained"),
    );
  await consumers.close();
  await runs.settled();
  over.abort();
  await incarnation.stop();
  // Read again: the node may have been called lost meanwhile and be another one now.
  const last = incarnation.current();
  if (last)
    await retire(services, last.id).catch((error: unknown) =>
      services.log.warn({ err: error }, "not retired"),
    );
}
