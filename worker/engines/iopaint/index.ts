export { inpaint, type InpaintRequest } from "./inpaint.ts";
export type { CallOptions, IopaintServer } from "./iopaint-server.ts";
export { readModel, type IopaintModel } from "./read-model.ts";
export { readServerConfig, type IopaintConfig } from "./routes.ts";
export { runPlugin, type PluginRequest } from "./run-plugin.ts";
