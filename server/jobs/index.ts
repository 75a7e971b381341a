/**
 * Jobs: accept a request, keep its row true until it ends, and report each change. A job is one row of `jobs`:
 *
 *              dispatch         claim                      start            complete
 *     pending ─────────▶ queued ─────▶ waiting_for_engine ─────▶ processing ─────────▶ completed
 *        ▲                 │                  │                       │
 *        └─────────────────┴──────────────────┴───────────────────────┘
 *          moved to another queue · handed back · failed attempt, others left · worker lost
 *
 *     claim and start are one statement for a job of the local engine: it waits for no server
 *     any open status ──▶ failed       no attempt left, no node can serve it, or displaced by an urgent job
 *     any open status ──▶ cancelled    at once while it waits; by its worker once it is claimed
 *
 * A job of the engine `cloud` is claimed for the seconds of its submit; once the provider has it (`cloud-end.ts`) no
 * node holds it, it belongs to its attempt (`server/providers`), and whichever worker follows the attempt ends it.
 *
 * Terms. Line: the pending rows of a queue. Window: its queued rows, about as many as live slots can run. Bell: an
 * invitation to claim, sent for each queued row. Lease: job, attempt and node; the guard of every write of a worker.
 * Attempt: every claim. Charged: the attempts that count against the job. Story: the rows of `job_events`, one per
 * revision. Hint: a message after the commit which names a changed job. Log: the lines of `job_logs`, for operators.
 *
 * Rules. Only `transition` and `transitionAll` (`job.ts`) write `status`, and two functions of the database, so that each
 * step is one round trip: `accept_job` stores a new row (`pending`, or `queued` when its line is empty and the window has
 * room) and `dispatch_queue` moves rows from the line into the window; their bodies are in
 * `server/db/functions`. `try_provider` changes no status: it stores the attempt that a claimed job waits for. The row is the
 * truth: bells and hints may be lost, since `sweep` and the polls find every change. A worker writes only under its lease.
 * Publish hints after the commit, never inside a transaction.
 *
 * Start reading at `job.ts`, then `submit.ts`, `dispatch.ts`, `claimed.ts`, `fail.ts` and `sweep.ts`.
 */

export {
  ack,
  expireEphemeral,
  expireGuests,
  noteAnswer,
  noteServed,
  pruneEvents,
  pruneKeys,
  pruneSignIns,
  removeJobsOf,
} from "./cleanup.ts";
export { openWithSettings, parametersText } from "./carry-settings.ts";
export { collect } from "./collect.ts";
export {
  type Call,
  cancelFromProvider,
  checkIntent,
  noteProviderProgress,
  readJobAttempts,
  waitForProvider,
} from "./cloud.ts";
export { chainError } from "./provider-texts.ts";
export { nextHop, type NextHop } from "./cloud-choice.ts";
export { type CallEnded, endCall } from "./cloud-end.ts";
export { openBundle, openPicturesZip, pictureEntry, picturesZipLimit } from "./bundle.ts";
export { jsonEntry, packZip, type ZipEntry } from "./zip.ts";
export {
  cancel,
  cancelAllOf,
  cancelWaiting,
  cancelAny,
  cancelBatchJobs,
  cancelSession,
  findLeftPurchase,
  confirmCancel,
  findStops,
  isSessionCancelled,
} from "./cancel.ts";
export {
  claim,
  complete,
  handBack,
  handBackUnknown,
  noteSubmission,
  persistProgress,
  start,
} from "./claimed.ts";
export type { Offer, QueueOffers } from "./offers.ts";
export { dispatch, isAnyWaiting, rering } from "./dispatch.ts";
export { findOrphanedPrompts, readActivity, readAwaitedNeeds, requeueRestored, sweep } from "./sweep.ts";
export { estimate, readWaiting } from "./estimate.ts";
export { moveInLine } from "./reorder.ts";
export { fail } from "./fail.ts";
export { goHome } from "./cloud-home.ts";
export { changeModel, otherModels } from "./kind-chain.ts";
export { type JobLog, keepJobLogs, pruneLogs, readJobLogs, readNodeLogs } from "./logs.ts";
export {
  findJob,
  get,
  getAny,
  loadViews,
  getStory,
  type JobEventView,
  type JobsUpdate,
  type JobView,
  serverLabel,
} from "./read.ts";
export { isFinal, type Job, type JobEventType, type Lease, readJob } from "./job.ts";
export { list, listJobsSchema, listPrompts, listTasks, type WrittenPrompt } from "./list.ts";
export { agreedSchema, type CloudQuote } from "./agreement.ts";
export {
  kindParams,
  parseSubmit,
  submitSchema,
  submitWithUrlsSchema,
  type SubmitInput,
  type SubmitRequest,
} from "./request.ts";
export { fetchInputs, isNothingGenerated, recentInputs } from "./pictures.ts";
export { hasShape } from "./shape.ts";
export { readCapabilities, type Capabilities } from "./capabilities.ts";
export { followJobs, newsOf, streamEvents } from "./follow.ts";
export { jobSource } from "./live.ts";
export { passToKey, reopenBatches, requireRightToFollow, retry, retryAny, retryBounds } from "./retry.ts";
export type { SubmitOptions, Submitter } from "./draft.ts";
export { announce, submit, type Submitted } from "./submit.ts";
export {
  type AskedJob,
  bindPrices,
  cloudPartsOf,
  lockSubmits,
  type Order,
  type OrderedJob,
  prepareMany,
  priceOf,
  priceOfOne,
  storeMany,
} from "./submit-many.ts";
export { submitTogether } from "./submit-together.ts";
export { findBegun, forgetOwnKey, ownKeyName, type RequestKey } from "./keys.ts";
export { submitWithUrls, takeInPicture, takesInputsAlong } from "./submit-with-urls.ts";
export { submitWithPictures } from "./submit-with-pictures.ts";
export {
  finishResult,
  type HeldResult,
  holdResult,
  releaseResult,
  renewResult,
  type ResultState,
  openResult,
} from "./result-hold.ts";
export { readAnyStory, type AnyStory, setTier } from "./admin.ts";
export { searchJobs, searchJobsSchema, type FoundJob } from "./admin-search.ts";
