export { findCandidates, type Candidate, type PlaceRequest, missingEngineReason } from "./candidates.ts";
export {
  findWorkflow,
  knownWorkflows,
  offeredWorkflows,
  type OfferedParam,
  type OfferedWorkflow,
} from "./workflows.ts";
export {
  leastDemandingQueue,
  place,
  type Placed,
  findDowngrade,
  type Downgrade,
  type DowngradeRequest,
} from "./place.ts";
export {
  livePlaces,
  readPlaces,
  seenNeeds,
  type LivePlace,
  type Place,
  sizeClassOf,
  isGpuQueue,
  liveServers,
  servingServers,
  type LiveServer,
} from "./places.ts";
export { readWaits, toEstimate, type LineTarget, type Wait } from "./estimate.ts";
