export { chooseLightQueue } from "./choose-queues.ts";
export type { NodeOffer, QueueOffer } from "../offer.ts";
export { createLiveOffer, type LiveOffer } from "../live-offer.ts";
export { detectMachine } from "./machine.ts";
export { parseOnly } from "./parse-only.ts";
