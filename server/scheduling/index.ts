/**
 * Scheduling: where a request can run, where it is done first, and how long it will wait. Everything here only reads;
 * `server/jobs` stores what is chosen.
 *
 * Terms. Need: what a run requires, e.g. `comfyui/<workflow>` or `local/<kind>`. Candidate: one engine and workflow
 * or model of a provider that can run the request. Place: a need on a queue. Live: an active node that beats has slots for it now. Seen: a node
 * of the last 24 hours could serve it. Started on demand: nobody is live, but something outside starts a worker while jobs
 * wait there. Position: the number of jobs that are served before a job. Downgrade: a place of lower quality or speed, used
 * when no graphics card has the memory.
 *
 * Rules. Functions that take `Db` and not `Tx` use a connection of their own: do not call them inside a transaction.
 * Nothing here imports `server/jobs` or writes rows. Costs and workflows may be two seconds old.
 */

export { noteOf } from "./notes.ts";
export { cloudCandidates, readQuote, type Quote } from "./quote.ts";
export { type Candidate, missingEngineReason } from "./candidates.ts";
export {
  findWorkflow,
  decideLicence,
  knownWorkflows,
  workflowFacts,
  offeredWorkflows,
  type OfferedParam,
  type OfferedWorkflow,
} from "./workflows.ts";
export { readListed, readListedNames } from "./listed.ts";
export { type Downgrade, findDowngrade, leastDemandingQueue } from "./downgrade.ts";
export { readProgramModel, readUserPolicy, setProgramModel, setUserPolicy } from "./policy.ts";
export {
  isGpuQueue,
  livePlaces,
  type Place,
  liveKeys,
  liveProviders,
  type LiveServer,
  liveServers,
  readPlaces,
  seenNeeds,
  servingServers,
} from "./places.ts";
export { lateStartMs, onDemandQueues, startableNeeds, startMsOf, unservedSince } from "./on-demand.ts";
export { readRunCosts, sizeClassOf } from "./costs.ts";
export { offeredModels } from "./models.ts";
export { readWaits, startingWait, toEstimate, type LineTarget, type Wait } from "./waits.ts";
export { noteAccepted, withOwnMemory } from "./snapshot.ts";
