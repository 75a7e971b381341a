export { ownIdentity, pidStartTime, type ProcessIdentity } from "./identity.ts";
export { countRun, drain, retire } from "./leave.ts";
export { listLive } from "./list.ts";
export { noteLowSpace, spaceProblem } from "./note-low-space.ts";
export { pruneEnded } from "./prune-ended.ts";
export { pruneNeeds } from "./prune-needs.ts";
export { publishRefused } from "./publish-refused.ts";
export { register, type Node, type Registration } from "./register.ts";
export { createNodeWatch, keepNodeWatch, type NodeWatch } from "./presence.ts";
export { readOrders, type NodeOrders } from "./read-orders.ts";
export { writeQueues, type NodeQueue } from "./offer.ts";
export { changeNode } from "./change-node.ts";
export type { SeenServer } from "./write-servers.ts";
export {
  endServerLease,
  newServerClaim,
  readServerLeases,
  takeServer,
  type SeenLease,
  type ServerClaim,
  type ServerRunEnd,
} from "./server-leases.ts";
export { changeNodeSettings, nodeSettingsSchema } from "./admin/change-node-settings.ts";
export { drainNode } from "./admin/drain-node.ts";
export { drainServer, resumeServer } from "./admin/drain-server.ts";
export { resumeNode } from "./orders.ts";
export { retireNode } from "./admin/retire-node.ts";
