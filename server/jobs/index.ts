/**
 * Jobs: accept a request, keep its row true until it ends, and report each change. A job is one row of `jobs`:
 *
 *              dispatch         claim                      start            complete
 *     pending ─────────▶ queued ─────▶ waiting_for_engine ─────▶ processing ─────────▶ completed
 *        ▲                 │                  │                       │
 *        └─────────────────┴──────────────────┴───────────────────────┘
 *          moved to another queue · handed back · failed try with tries left · worker lost
 *
 *     any open status ──▶ failed       no try left, no node can serve it, or displaced by an urgent job
 *     any open status ──▶ cancelled    at once while it waits; by its worker once it is claimed
 *
 * Terms. Line: the pending rows of a queue. Window: its queued rows, about as many as live slots can run. Bell: an
 * invitation to claim, sent for each queued row. Lease: job, attempt and node; the guard of every write of a worker.
 * Attempt: every claim. Charged: the tries that count against the job. Story: the rows of `job_events`, one per
 * revision. Hint: a message after the commit which names a changed job.
 *
 * Rules. Only `transition` and `transitionAll` (`job.ts`) write `status`. The row is the truth: bells and hints may be
 * lost, since `sweep` and the polls find every change. A worker writes only under its lease. Publish hints after the
 * commit, never inside a transaction.
 *
 * Start reading at `job.ts`, then `submit.ts`, `dispatch.ts`, `run.ts`, `fail.ts` and `sweep.ts`.
 */

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
