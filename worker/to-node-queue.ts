import type { NodeQueue } from "@atelier/server/nodes";
import type { QueueOffer } from "./offer/index.ts";

/** A queue of an offer as it is stored with the node. */
export function toNodeQueue({ queue, slots, offers }: QueueOffer): NodeQueue {
  return { queue, slots, needs: offers.map(({ need }) => need) };
}
