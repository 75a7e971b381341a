import os from "node:os";
import type { Services } from "@atelier/server/services";
import { startIncarnation, type Incarnation } from "./presence.ts";
import type { LiveOffer } from "./offer/index.ts";
import type { Runs } from "./runs.ts";
import type { WorkInput } from "./work-input.ts";

interface Entering {
  readonly offer: LiveOffer;
  readonly runs: Runs;
  /** A node for one job follows no settings, and bears a name of its own so that it stands in nobody's place. */
  readonly isOnce?: boolean;
}

/** Registers the node; when it is called lost its runs end before it comes back as a new one. */
export function enter(
  services: Services,
  { workflows, problems }: Pick<WorkInput, "workflows" | "problems">,
  { offer, runs, isOnce = false }: Entering,
): Promise<Incarnation> {
  const name = services.env.WORKER_NAME ?? os.hostname();
  return startIncarnation(services, {
    name: isOnce ? `${name}-once` : name,
    offer: () => offer.current(),
    workflows: workflows.filter(({ isBuiltIn }) => !isBuiltIn),
    problems,
    inherits: !isOnce,
    onRegistered(node) {
      // Before the first claim: they may be those of an earlier node of this name.
      offer.setSettings(node.settings);
      offer.refuse(node.problems.map(({ what }) => what));
    },
    onLost: async () => {
      runs.stopAll("lost");
      await runs.settled();
    },
  });
}
