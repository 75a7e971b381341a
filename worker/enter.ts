import os from "node:os";
import type { Services } from "@atelier/server/services";
import { startIncarnation, type Incarnation } from "./incarnation.ts";
import type { LiveOffer } from "./offer/index.ts";
import type { Runs } from "./runs.ts";
import type { WorkInput } from "./work-input.ts";

/** Registers the node; when it is called lost its runs end before it comes back as a new one. */
export function enter(
  services: Services,
  { workflows, problems }: Pick<WorkInput, "workflows" | "problems">,
  { offer, runs }: { offer: LiveOffer; runs: Runs },
): Promise<Incarnation> {
  return startIncarnation(services, {
    name: services.env.WORKER_NAME ?? os.hostname(),
    offer: () => offer.current(),
    workflows: workflows.filter(({ isBuiltIn }) => !isBuiltIn),
    problems,
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
