/**
 * Nodes: which worker processes are alive, what they offer, and what admins ask of them. A row of `nodes` is one
 * incarnation of a worker process; a restart adds a new row.
 *
 *     register ─────────▶ active
 *     active ───────────▶ draining          drainNode; resumeNode leads back to active
 *     active, draining ─▶ draining for good closeDoors: the process ends, no admin can resume it
 *     active, draining ─▶ gone              markGone: the process has ended in order
 *     active, draining ─▶ lost              its counter stopped, or its process is found dead
 *
 * Terms. Beat: a node raises its counter every second. Watch: a worker checks that the counters of all nodes change, and that
 * the processes of its own host, or container, are there. Away: a node without a beat for 30 s by the clock of the database; no
 * state, since it ends with the next beat. Offer: the queues, slots and needs of a node. Admin request: settings, drain or stop,
 * which the node reads every second. Server lease: the right of one run to use a server alone.
 *
 * Rules. `lost` and `gone` are final: a node that comes back registers again. Never compare timestamps to decide that
 * a node is lost; watch the counter by your own clock. Only workers do that: web processes may be frozen at any moment, so
 * they ask who is away, and write nothing. `closeDoors` and `markGone` belong to the process itself,
 * `drainNode` and `requestStop` to admins. Taking back the jobs of a lost node is the task of `server/jobs`.
 */

export { ownIdentity, register, type Node, type Registration } from "./register.ts";
export {
  countRun,
  storeRunCounts,
  closeDoors,
  markGone,
  noteProblem,
  botProblem,
  spaceProblem,
  storeProblem,
  pruneEnded,
  createNodeWatch,
} from "./presence.ts";
export {
  awayAfterSeconds,
  hasEnded,
  isActive,
  isConnectedNode,
  isLiveNode,
  isOrphaned,
  isPresent,
  isPresentState,
} from "./states.ts";
export {
  keptListed,
  pruneNeeds,
  pruneOffers,
  writeQueues,
  type NodeQueue,
  changeNode,
  type SeenServer,
} from "./offer.ts";
export { publishRefused } from "./workflows.ts";
export {
  readAdminRequests,
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
