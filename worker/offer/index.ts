export { chooseLightQueue } from "./choose-queues.ts";
export { computeOffer, type NodeOffer, type OfferInput, type QueueOffer } from "./compute-offer.ts";
export { createLiveOffer, type LiveOffer } from "./live-offer.ts";
export { detectMachine, type Machine } from "./machine.ts";
export { parseOnly } from "./parse-only.ts";
