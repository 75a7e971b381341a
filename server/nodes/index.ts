export {
  ownIdentity,
  pidStartTime,
  type ProcessIdentity,
  register,
  type Node,
  type Registration,
} from "./register.ts";
export {
  countRun,
  drain,
  retire,
  noteLowSpace,
  spaceProblem,
  pruneEnded,
  createNodeWatch,
  keepNodeWatch,
  type NodeWatch,
} from "./presence.ts";
export { pruneNeeds, writeQueues, type NodeQueue, changeNode, type SeenServer } from "./offer.ts";
export { publishRefused } from "./workflows.ts";
export {
  readOrders,
  type NodeOrders,
  changeNodeSettings,
  nodeSettingsSchema,
  drainNode,
  drainServer,
  resumeServer,
  resumeNode,
  retireNode,
} from "./orders.ts";
export {
  endServerLease,
  newServerClaim,
  readServerLeases,
  takeServer,
  type SeenLease,
  type ServerClaim,
  type ServerRunEnd,
} from "./server-leases.ts";
