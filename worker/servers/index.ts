export type { AcquireInput, HeldServer, ServerPool } from "./server-pool.ts";
export type { MissingByWorkflow, ServerCondition, ServerEngine, ServerState } from "./server-state.ts";
