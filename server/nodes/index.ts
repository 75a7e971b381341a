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
  closeDoors,
  markGone,
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
  readAdminRequests,
  type AdminRequests,
  changeNodeSettings,
  nodeSettingsSchema,
  drainNode,
  drainServer,
  resumeServer,
  resumeNode,
  requestStop,
} from "./admin-requests.ts";
export {
  endServerLease,
  newServerClaim,
  readServerLeases,
  takeServer,
  type SeenLease,
  type ServerClaim,
  type ServerRunEnd,
} from "./server-leases.ts";
