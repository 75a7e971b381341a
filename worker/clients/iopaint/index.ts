/**
 * The protocol of one IOPaint server: its routes as functions, and which of its plugins can do what.
 *
 * Files: http.ts sends requests and maps failures of the network; routes.ts has one function per route.
 *
 * Not here: jobs, leases, the choice of a server. An answer that does not match IOPaint's schemas is `proxy_error`.
 */
export type { CallOptions, IopaintServer } from "./http.ts";
export {
  inpaint,
  type PluginClick,
  pluginsByKind,
  readModel,
  readServerConfig,
  runMaskPlugin,
  runPlugin,
  segmentPlugin,
} from "./routes.ts";
