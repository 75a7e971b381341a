export { createServerPool, type ServerPoolInput } from "./pool.ts";
export { createSources } from "./sources/create-sources.ts";
export { pluginsByKind } from "./probe-iopaint.ts";
export type { AcquireInput, HeldServer, ServerPool } from "./server-pool.ts";
export type { MissingByWorkflow, ServerCondition, ServerEngine, ServerState } from "./server-state.ts";
