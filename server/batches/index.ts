/**
 * Batches: jobs that were asked for together, as a list or by axes, for one price and with one progress, one cancel, one
 * retry, one zip and one webhook. Lookbooks, candidates, lists of prompts and X/Y grids are batches.
 *
 *     (submitBatch) ──▶ open ──last open job ends──▶ ended
 *                         ▲                            │
 *                         └────── a job runs again ────┘
 *
 * Terms. Axis: a member of the request with several values; the last axis varies fastest. Place: a position of the batch
 * with the job that stands there now. Step: a request that runs at a place on the result of the job before it, once that
 * has completed; its job then takes the place. Round: how often the batch has ended, since each end is delivered.
 *
 * A batch that its owner removes is kept with its results for `retention.undoDeleteMs`, as deleted pictures are.
 *
 * Rules. A batch has no state of its own: what it is follows from its jobs, which are scheduled like all others of their
 * owner, and no job knows of its batch or of another job. A step that can begin is *due*: the process that completed the job
 * before begins it, else a duty. `ended_at` is written by the trigger `end_batch` (server/db/functions/triggers.sql) with the last job, or with the
 * stop of the last step, together with the deliveries. All jobs of a batch are stored in one transaction, or none. Only `server/jobs` writes jobs.
 */
export { cancelBatch, retryBatch } from "./change.ts";
export { noteCompleted } from "./looking.ts";
export { beginSteps, stopStepsOfKey } from "./steps.ts";
export { streamBatch } from "./follow.ts";
export { openBatchZip } from "./files.ts";
export { makeContactSheet } from "./sheet.ts";
export {
  type BatchPlace,
  type BatchPlan,
  type BatchView,
  type BatchWithJobs,
  getBatch,
  listBatches,
  type ListedBatch,
  listBatchesSchema,
  readPlan,
} from "./read.ts";
export { batchDescription, type BatchInput, type BatchValues, maxBatchJobs } from "./request.ts";
export { purgeBatches, removeBatch, restoreBatch } from "./remove.ts";
export { type BatchEstimate, estimateBatch, submitBatch } from "./submit.ts";
