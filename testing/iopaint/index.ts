export type { IopaintFault } from "./faults.ts";
export type { IopaintStats, IopaintOptions } from "./options.ts";
export { startIopaintSimulator, type IopaintSimulator } from "./simulator.ts";
