export type { IopaintFault } from "./fault.ts";
export type { IopaintStats } from "./iopaint.ts";
export type { IopaintOptions } from "./options.ts";
export { startIopaintSimulator, type IopaintSimulator } from "./simulator.ts";
