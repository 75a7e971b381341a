export { queueForMachine, queueNames } from "./catalog.ts";
export { queueConnection, type OnConnectionError, type QueueConnection } from "./connection.ts";
export { createBells } from "./bells.ts";
export { createHints } from "./create-hints.ts";
export type { Bell, BellConsumer, Bells, HintMessage, Hints, JobHint, LiveProgress } from "./port.ts";
