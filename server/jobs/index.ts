export { ack, noteAnswer, noteServed, openResult } from "./cleanup.ts";
export { openBundle } from "./bundle.ts";
export { cancel, cancelAny, confirmCancel, findStops, type CancelAnswer } from "./cancel.ts";
export {
  claim,
  type Claimant,
  type Offer,
  type QueueOffers,
  complete,
  type Completion,
  type StoredResult,
  handBack,
  handBackUnknown,
  noteSubmission,
  persistProgress,
  type Progress,
  start,
} from "./run.ts";
export { dispatch, rering } from "./dispatch.ts";
export {
  findOrphanedPrompts,
  type PostedPrompt,
  recover,
  readActivity,
  readAwaitedNeeds,
  sweep,
  tidy,
} from "./sweep.ts";
export { estimate, type EstimateAnswer, readWaiting, type WaitingJob } from "./estimate.ts";
export { moveInLine, type MoveInLine } from "./reorder.ts";
export { fail } from "./fail.ts";
export {
  get,
  getStory,
  readEvents,
  type JobAddress,
  type JobStory,
  type JobEventView,
  type JobOutputView,
  type JobsUpdate,
  type JobView,
  list,
  listJobsSchema,
  type JobPage,
  type ListJobsInput,
  recentInputs,
  serverLabel,
} from "./read.ts";
export {
  type Job,
  type JobEventType,
  type Lease,
  canFollow,
  isFinal,
  openStatuses,
  successors,
} from "./job.ts";
export { kindParams, submitSchema, type SubmitInput, type SubmitRequest } from "./request.ts";
export { loadInputImages, type InputImage } from "./admission.ts";
export { readCapabilities, type Capabilities, type Capability } from "./capabilities.ts";
export { streamEvents, watch, type WatchInput } from "./live-streams.ts";
export { retry, retryAny } from "./retry.ts";
export { submit, type Submitted, type SubmitOptions, type Submitter } from "./submit.ts";
export { readAnyStory, type AnyStory, type StoryEvent, setTier } from "./admin.ts";
export { searchJobs, searchJobsSchema, type FoundJob, type JobSearchPage } from "./admin-search.ts";
