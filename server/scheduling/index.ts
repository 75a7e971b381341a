export { chooseQueue, missingEngineReason } from "./choose-queue.ts";
export { livePlaces, type Places } from "./places.ts";
