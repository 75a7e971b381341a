export type { CallOptions, IopaintServer } from "./iopaint-server.ts";
export { readModel, type IopaintModel } from "./read-model.ts";
export { readServerConfig, type IopaintConfig } from "./read-server-config.ts";
