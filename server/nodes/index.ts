export { ownIdentity, pidStartTime, type ProcessIdentity } from "./identity.ts";
export { countRun, drain, retire } from "./leave.ts";
export { listLive } from "./list.ts";
export { pruneEnded } from "./prune-ended.ts";
export { register, type Node, type Registration } from "./register.ts";
export { createNodeWatch, type NodeWatch } from "./watch.ts";
