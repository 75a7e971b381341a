import { type SQL, sql } from "drizzle-orm";
import { entryOf } from "../audit/index.ts";
import { type Db, type JobStatus, schema, tiers, type Tx } from "../db/index.ts";
import { requireWebhookUrl } from "../deliveries/index.ts";
import { AppError, inSpan, newId, type SpanStart, oneAtATime } from "../platform/index.ts";
import { checkGuestSpace, quotaRule } from "../images/index.ts";
import { consentFor } from "../safety.ts";
import { noteAccepted } from "../scheduling/index.ts";
import type { Services } from "../services.ts";
import {
  type AcceptRules,
  answerKnown,
  displaceOne,
  findKnownJob,
  keyOfJob,
  type KnownJob,
  type Refusal,
  refusalError,
  rulesFor,
} from "./admission.ts";
import { ringFor, scheduleDispatch } from "./dispatch.ts";
import { type Draft, type NewJob, prepare, type SubmitOptions } from "./draft.ts";
import { hint, type Job } from "./job.ts";
import { readInputs } from "./pictures.ts";
import { parseSubmit } from "./request.ts";

export interface Submitted {
  readonly id: string;
  readonly status: JobStatus;
}

/**
 * Accepts a job: checks and stores it in one statement, then rings for it or schedules a dispatch. On an error nothing
 * is stored. Throws `bad_request`, `consent_required`, `not_found`, `no_engine`, `workflow_unknown`, `workflow_params`,
 * `model_unknown`, `budget_exceeded`, `not_agreed`, `mask_size`, `output_too_large`, `quota_exceeded`, `storage_quota`,
 * `queue_full`, `url_refused`, `forbidden` (a tier above `normal`), `idempotency_mismatch` and `conflict` (the job of the key
 * was removed).
 */
export async function submit(services: Services, input: unknown, options: SubmitOptions): Promise<Submitted> {
  const asked = draftOf(services, input, options);
  const draft = { ...asked, key: await keyOfJob(services.db, asked.request, options) };
  return inAcceptSpan(services, draft, () => acceptDraft(services, draft));
}

/** The first span of a job, which its row keeps; below that of the request where a client sent one. */
function inAcceptSpan(services: Services, { id, request }: Draft, work: () => Promise<Submitted>) {
  const attributes = { "atelier.job.id": id, "atelier.job.kind": request.kind };
  const start: SpanStart = { kind: "server", attributes };
  return inSpan(services.tracing, `accept ${request.kind}`, start, work);
}

async function acceptDraft(services: Services, draft: Draft): Promise<Submitted> {
  const { options } = draft;
  const job = await prepare(services, draft).catch(async (error: unknown) => {
    // A repeated request gets its first answer, also when it could not be placed now.
    const known = await findKnownJob(services.db, draft.key);
    if (!known) throw error;
    return known;
  });
  if ("isSame" in job) return services.db.transaction((tx) => answerKnownTo(tx, job, options));
  const { userId: ownerId } = options.submitter;
  const accepted = await oneAtATime(`submit of ${ownerId}`, () => accept(services, job));
  if (accepted.known) return answerKnown(accepted.known);
  announce(services, [{ job, answer: accepted }], accepted.displaced);
  return { id: draft.id, status: accepted.isQueued ? "queued" : "pending" };
}

/** A request that its submitter may make, with the id of its job and without a key. Throws what `submit` throws for the body alone. */
export function draftOf(services: Services, input: unknown, options: SubmitOptions): Draft {
  const request = parseSubmit(input);
  if (tiers[request.tier] > tiers.normal && !options.submitter.isAdmin) {
    throw new AppError("forbidden", `Only an admin may ask for the tier "${request.tier}".`);
  }
  if (request.webhookUrl !== undefined) requireWebhookUrl(services, request.webhookUrl);
  return { id: options.newJobId ?? newId(), request, options, key: null };
}

interface Accepted {
  /** The existing job of the idempotency key; then nothing was stored. */
  readonly known: KnownJob | null;
  /** The job was stored as `queued`. */
  readonly isQueued: boolean;
  /** Free slots for its need at that moment. */
  readonly idle: number;
  readonly needsDispatch: boolean;
  readonly displaced: readonly Job[];
}

/** Stores the job. Throws the error of a refusal. */
async function accept(services: Services, job: NewJob): Promise<Accepted> {
  const { db, config } = services;
  const { request, options } = job;
  const ownerId = options.submitter.userId;
  const rules = rulesFor(config, options.submitter.isGuest);
  if (options.submitter.isGuest) await checkGuestSpace(db, config);
  if (options.newInputs ?? options.alongside) return acceptTogether(services, { job, rules });
  const answer = await storeJob(db, job, rules);
  if (answer.outcome === "accepted") return { ...answer, known: null, displaced: [] };
  if (answer.outcome === "known") return { ...answer, known: answer.detail, displaced: [] };
  if (mayDisplace(answer, job)) return acceptTogether(services, { job, rules });
  // A cached picture was deleted in the meantime: the read throws an error that names its role.
  if (answer.outcome === "input_missing") await readInputs(db, ownerId, request);
  throw refusedBy(answer, rules);
}

/** The answer for a request whose key is known, after what belongs to it. */
async function answerKnownTo(tx: Tx, known: KnownJob, { alongside }: SubmitOptions): Promise<Submitted> {
  const answer = answerKnown(known);
  await alongside?.(tx, answer.id);
  return answer;
}

/** Stores the job with its new pictures, with what belongs to it and with the job that it displaces, or nothing. */
async function acceptTogether(
  { db }: Services,
  { job, rules }: { readonly job: NewJob; readonly rules: AcceptRules },
): Promise<Accepted> {
  return db.transaction(async (tx) => {
    const { newInputs, alongside } = job.options;
    await newInputs?.insert(tx);
    const { answer, displaced } = await storeOrDisplace(tx, job, rules);
    if (answer.outcome === "accepted") {
      await alongside?.(tx, job.id);
      return { ...answer, known: null, displaced };
    }
    if (answer.outcome !== "known") throw refusedBy(answer, rules);
    // The pictures came with this request alone: they are not those of the known job. Nor may a job fail for one that is known.
    if (newInputs || displaced.length > 0) throw new AppError("conflict");
    await answerKnownTo(tx, answer.detail, job.options);
    return { ...answer, known: answer.detail, displaced };
  });
}

const mayDisplace = ({ outcome }: Answer, { request }: NewJob) =>
  outcome === "queue_full" && request.tier === "urgent";

/** For an urgent job in a full line the oldest job of tier `low` fails. */
async function storeOrDisplace(tx: Tx, job: NewJob, rules: AcceptRules) {
  const answer = await storeJob(tx, job, rules);
  if (!mayDisplace(answer, job)) return { answer, displaced: [] };
  const displaced = await displaceOne(tx, job.quote.placed.queue);
  return { answer: await storeJob(tx, job, { ...rules, maxWaiting: null }), displaced };
}

type Answer = Pick<Accepted, "isQueued" | "idle" | "needsDispatch"> & {
  /** The user's own quota; null where the rules apply. */
  readonly quotaBytes: number | null;
} & (
    | { readonly outcome: "accepted"; readonly detail: unknown }
    | { readonly outcome: "known"; readonly detail: KnownJob }
    | Refusal
  );

export function refusedBy(answer: Refusal & Pick<Answer, "quotaBytes">, rules: AcceptRules): AppError {
  return refusalError(answer, { maxBytes: answer.quotaBytes ?? rules.maxBytes ?? Infinity });
}

/** Calls `accept_job`: the row, its first event, its links to pictures, the key and the consent in one round trip. */
export async function storeJob(db: Db | Tx, job: NewJob, rules: AcceptRules): Promise<Answer> {
  const { request, inputs, row, key, options } = job;
  const links = [...inputs].map(([role, image]) => ({ role, imageId: image.id }));
  const isStated = request.kind === "outfit_change" && request.params.consent === true && !options.isPass;
  const person = isStated ? inputs.get("person") : undefined;
  const entry = person && entryOf({ kind: "consent.stated", by: row.ownerId, object: person.id });
  const also = {
    event: { queue: row.queue, need: row.need, isLive: row.placement.isLive },
    ...(key ? { key: key.name, requestSha256: key.sha256 } : {}),
    ...(person ? { consent: { ...consentFor(person.storedSha256), entry } } : {}),
  };
  const answered = sql`
    select outcome, detail, is_queued as "isQueued", idle, needs_dispatch as "needsDispatch",
      (rule.quota ->> 'maxBytes')::float8 as "quotaBytes"
    from (select ${quotaRule(row.ownerId)} as quota) rule, accept_job(${JSON.stringify(row)}::jsonb,
      ${JSON.stringify(links)}::jsonb, ${JSON.stringify({ ...rules, ...also })}::jsonb || rule.quota)`;
  const [answer] = await db.execute<Answer & Record<string, unknown>>(withWebhook(answered, job));
  if (!answer) throw new Error("accept_job gave no row");
  return answer;
}

/** Also stores the address that the request named for a webhook. */
function withWebhook(answered: SQL, { id, request }: NewJob): SQL {
  if (request.webhookUrl === undefined) return answered;
  return sql`with answer as (${answered}), hooked as (
      insert into ${schema.jobWebhooks} (job_id, url) select ${id}::uuid, ${request.webhookUrl} from answer where outcome = 'accepted'
    ) select * from answer`;
}

/** A stored job with the answer of the database. */
export interface StoredJob {
  readonly job: NewJob;
  readonly answer: Pick<Accepted, "isQueued" | "idle" | "needsDispatch">;
}

/** After the commit: publishes hints, logs, and rings and dispatches once for each queue. */
export function announce(
  services: Services,
  stored: readonly StoredJob[],
  displaced: readonly Job[] = [],
): void {
  const changed = stored.map(({ job: { id, options }, answer }) => ({
    id,
    ownerId: options.submitter.userId,
    revision: answer.isQueued ? 2 : 1,
  }));
  hint(services, [...changed, ...displaced]);
  for (const { job, answer } of stored) {
    const { placed, share } = job.quote;
    const { wait } = placed;
    const { queue, candidate } = placed;
    services.log.info({ jobId: job.id, kind: job.request.kind, queue }, "job accepted");
    const { isQueued } = answer;
    noteAccepted(services.db, { queue, need: candidate.need, cost: wait.cost, share, isQueued });
  }
  // Not awaited: the jobs are accepted, and a failed bell or dispatch does not change that.
  for (const [queue, own] of Map.groupBy(stored, ({ job }) => job.quote.placed.queue)) {
    const queued = own.filter(({ answer }) => answer.isQueued);
    const rows = queued.map(({ job: { id, quote }, answer: { idle } }) => ({
      id,
      need: quote.placed.candidate.need,
      attempt: 0,
      ring: 1,
      idle,
    }));
    if (rows.length > 0) services.later(ringFor(services, queue, rows));
    if (own.some(({ answer }) => answer.needsDispatch)) services.later(scheduleDispatch(services, queue));
  }
}
