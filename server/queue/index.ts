export { queueForMachine, queueNames } from "./catalog.ts";
export type { Bell, BellConsumer, Bells, HintMessage, Hints, JobHint, LiveProgress } from "./port.ts";
