import os from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import type { NodeProblem } from "@atelier/server/db";
import { closeDoors, markGone, storeRunCounts } from "@atelier/server/nodes";
import type { Services } from "@atelier/server/services";
import type { Workflow } from "@atelier/server/workflows";
import type { Incarnation } from "./base/index.ts";
import { startIncarnation } from "./incarnation.ts";
import type { LiveOffer } from "./live-offer.ts";
import type { Runs } from "./runs.ts";

interface RegisterInput {
  readonly offer: LiveOffer;
  readonly runs: Runs;
  /** A `--once` worker ignores saved settings and registers as `<name>-once`, so it never replaces a permanent node. */
  readonly isOnce?: boolean;
}

/** Registers the node. When it is marked lost, all its runs are stopped before the process registers a new one. */
export function registerNode(
  services: Services,
  {
    workflows,
    problems,
  }: { readonly workflows: readonly Workflow[]; readonly problems: readonly NodeProblem[] },
  { offer, runs, isOnce = false }: RegisterInput,
): Promise<Incarnation> {
  const name = services.env.WORKER_NAME ?? os.hostname();
  return startIncarnation(services, {
    name: isOnce ? `${name}-once` : name,
    offer: () => offer.current(),
    workflows,
    problems,
    inherits: !isOnce,
    onRegistered(node) {
      // Before the first claim: an earlier node of this name may have left settings.
      offer.setSettings(node.settings);
      offer.refuse(node.problems.map(({ what }) => what));
    },
    onLost: async () => {
      runs.stopAll("lost");
      await runs.settled();
    },
  });
}

/** Runs that are not done are handed back this long before the grace time ends. */
const handBackLeadMs = 5_000;

interface ShutDownInput {
  readonly incarnation: Incarnation;
  readonly runs: Runs;
  readonly consumers: { close(): Promise<void> };
  /** Resolves when the grace time begins. A node that an admin stops has no grace time and finishes its jobs. */
  readonly signalled: Promise<unknown>;
  /** What else is handed back while the node is there, such as stages of the assistant; never rejects. */
  readonly othersDone: Promise<unknown>;
}

/** Drains the node, waits for its jobs while it still beats, then marks it gone. */
export async function shutDownNode(services: Services, input: ShutDownInput): Promise<void> {
  const { incarnation, runs, consumers } = input;
  runs.close();
  const handBackMs = Math.max(0, services.config.timing.stopGraceMs - handBackLeadMs);
  const over = new AbortController();
  void input.signalled
    .then(() => sleep(handBackMs, undefined, { signal: over.signal }))
    .then(() => runs.stopAll("stopping"))
    .catch(() => undefined);
  const draining = incarnation.current();
  if (draining)
    await closeDoors(services, draining.id).catch((error: unknown) =>
      services.log.warn({ err: error }, "not drained"),
    );
  await consumers.close();
  await Promise.all([runs.settled(), input.othersDone]);
  over.abort();
  await incarnation.stop();
  await storeRunCounts(services);
  // Read again: the node may have been lost and replaced in the meantime.
  const last = incarnation.current();
  if (last)
    await markGone(services, last.id).catch((error: unknown) =>
      services.log.warn({ err: error }, "not retired"),
    );
}
