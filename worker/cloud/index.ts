/**
 * Image providers in the worker: a claimed job is handed to the first provider of its chain that takes it, and from then on any
 * worker with the key follows the attempt.
 *
 *   claim ─▶ cloud-job.ts: nextHop ─▶ intent stored ─▶ submission.ts ─▶ submit ─▶ the attempt owns the job
 *                                                                                    │ due by its time or a webhook
 *   job ended ◀─ results.ts: fetched, admitted, stored ◀─ follow.ts ─▶ reconcile.ts ◀─┘ (asks; after a lost answer, looks for it)
 *
 *   room.ts   models without a provider that has room: no job of theirs is claimed meanwhile
 *   sizes.ts  the size that a provider is asked for
 *
 * Rules. No call is repeated that may have been accepted: the intent is in the database first, and what is unknown is looked for.
 *
 * Not here: which provider comes next, what it may cost and the states of an attempt (`server/jobs`, `server/providers`).
 */
export { type CloudRunInput, type Providers, runCloudJob } from "./cloud-job.ts";
export { startFollowing } from "./follow.ts";
export { createProviderRoom, type ProviderRoom } from "./room.ts";
