import { sql } from "drizzle-orm";
import { type Asked, inTurn, type JobStatus, schema, tiers, type Tx } from "../db/index.ts";
import { needOf } from "../engines.ts";
import { checkSpace } from "../images/index.ts";
import { AppError, newId } from "../platform/index.ts";
import { recordConsent } from "../safety.ts";
import { toEstimate } from "../scheduling/index.ts";
import type { Services } from "../services.ts";
import { admit, type InputImages, loadInputs, rememberRequest } from "./admission.ts";
import { scheduleDispatch } from "./dispatch.ts";
import { type Quote, readQuote } from "./estimate.ts";
import { hint, type Job } from "./job.ts";
import { parseSubmit, resolveParams, sizeClassOfRun, type SubmitRequest } from "./request.ts";

export interface Submitter {
  readonly userId: string;
  readonly isGuest: boolean;
  /** Whether the tiers above `normal` are allowed. */
  readonly isAdmin?: boolean;
}

export interface SubmitOptions {
  readonly submitter: Submitter;
  readonly idempotencyKey?: string;
  readonly retry?: { readonly of: string; readonly number: number };
  /** The first failed try ends the job; false by default. */
  readonly once?: boolean;
}

export interface Submitted {
  readonly id: string;
  readonly status: JobStatus;
}

/**
 * Accepts a job: checks and stores it in one transaction, then schedules a dispatch. On an error nothing is stored.
 * Throws `bad_request`, `consent_required`, `not_found`, `no_engine`, `workflow_unknown`, `workflow_params`, `mask_size`,
 * `output_too_large`, `quota_exceeded`, `storage_quota`, `queue_full`, `forbidden` (a tier above `normal`), `idempotency_mismatch` and
 * `conflict` (the job of the key was removed).
 */
export async function submit(services: Services, input: unknown, options: SubmitOptions): Promise<Submitted> {
  const request = parseSubmit(input);
  if (tiers[request.tier] > tiers.normal && !options.submitter.isAdmin) {
    throw new AppError("forbidden", `Only an admin may ask for the tier "${request.tier}".`);
  }
  const id = newId();
  const quote = await prepareQuote(services, request, options.submitter.userId);
  const accepted = await inTurn(`submit of ${options.submitter.userId}`, () =>
    services.db.transaction((tx) => accept(tx, services, { id, request, options, quote })),
  );
  if (accepted.known) return accepted.known;
  hint(services, [{ id, ownerId: options.submitter.userId, revision: 1 }, ...accepted.displaced]);
  services.log.info({ jobId: id, kind: request.kind, queue: accepted.queue }, "job accepted");
  // Not awaited: the job is accepted, and a failed dispatch does not change that.
  void scheduleDispatch(services, accepted.queue);
  return { id, status: "pending" };
}

interface Acceptance {
  readonly id: string;
  readonly request: SubmitRequest;
  readonly options: SubmitOptions;
  /** Throws the error of the placing. Called after the check of the key: a repeated request gets its first answer. */
  readonly quote: () => Quote;
}

/** Reads the quote before the transaction, but keeps its error until the quote is used. */
async function prepareQuote(
  services: Services,
  request: SubmitRequest,
  ownerId: string,
): Promise<() => Quote> {
  try {
    const quote = await readQuote(services, request, ownerId);
    return () => quote;
  } catch (error) {
    return () => {
      throw error;
    };
  }
}

type Accepted =
  | { readonly known: Submitted }
  | { readonly known: null; readonly queue: string; readonly displaced: readonly Job[] };

async function accept(tx: Tx, services: Services, acceptance: Acceptance): Promise<Accepted> {
  const { id, request, options } = acceptance;
  const { submitter, idempotencyKey: key } = options;
  const ownerId = submitter.userId;
  if (key !== undefined) {
    const knownId = await rememberRequest(tx, { ownerId, key, request, jobId: id });
    if (knownId) return { known: await readStatus(tx, knownId) };
  }
  const { queue } = acceptance.quote().placed;
  const inputs = await loadInputs(tx, ownerId, request);
  const tier = tiers[request.tier];
  await checkSpace(tx, services.config, { id: ownerId, isGuest: submitter.isGuest });
  const displaced = await admit(tx, services.config, { ownerId, isGuest: submitter.isGuest, queue, tier });
  const person = inputs.get("person");
  if (person) await recordConsent(tx, { ownerId, storedSha256: person.storedSha256 });
  await insertJob(tx, { ...acceptance, inputs });
  return { known: null, queue, displaced };
}

/** A key outlives its job. When the job was removed, its status and result are unknown. */
async function readStatus(tx: Tx, id: string): Promise<Submitted> {
  const result = await tx.execute<{ status: JobStatus }>(
    sql`select status from ${schema.jobs} where id = ${id}`,
  );
  const [job] = result;
  if (!job)
    throw new AppError(
      "conflict",
      "The job of this Idempotency-Key has ended and was removed. Use a new key to run it again.",
    );
  return { id, status: job.status };
}

type NewJob = Acceptance & { readonly inputs: InputImages };

function rowOf({ id, request, options, quote, inputs }: NewJob) {
  const { placed, wait } = quote();
  const { queue, placement, candidate } = placed;
  const { engine, workflow } = candidate;
  const { kind, retention } = request;
  const ownerId = options.submitter.userId;
  const params = resolveParams(request, workflow);
  const sizeClass = sizeClassOfRun(kind, params, inputs);
  const need = needOf({ engine, kind, workflow: workflow?.name ?? null });
  return {
    id,
    ownerId,
    kind,
    status: "pending" as const,
    tier: tiers[request.tier],
    params,
    queue,
    engine,
    workflow: workflow?.name ?? null,
    need,
    placement: { ...placement, asked: askedIn(request) },
    estimate: toEstimate(wait, sizeClass),
    sizeClass,
    inputCount: inputs.size,
    retention,
    retryOf: options.retry?.of ?? null,
    retryNumber: options.retry?.number ?? null,
    once: options.once ?? false,
  };
}

function askedIn({ engine, workflow, params }: SubmitRequest): Asked {
  return { engine: engine ?? null, workflow: workflow ?? null, params: Object.keys(params) };
}

/** Inserts the row, its first event and its links to pictures in one statement. */
async function insertJob(tx: Tx, job: NewJob): Promise<void> {
  const { jobs, jobEvents, jobInputs } = schema;
  const { id, inputs } = job;
  const values = rowOf(job);
  const inserted = tx.$with("inserted").as(tx.insert(jobs).values(values).returning({ id: jobs.id }));
  const data = { queue: values.queue, need: values.need, isLive: values.placement.isLive };
  const event = { jobId: id, revision: 1, type: "created", status: "pending", data } as const;
  const links = [...inputs].map(([role, image]) => ({ jobId: id, role, imageId: image.id }));
  if (links.length === 0) {
    await tx.with(inserted).insert(jobEvents).values(event);
    return;
  }
  const logged = tx
    .$with("logged")
    .as(tx.insert(jobEvents).values(event).returning({ jobId: jobEvents.jobId }));
  await tx.with(inserted, logged).insert(jobInputs).values(links);
}
