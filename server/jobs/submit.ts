import { sql } from "drizzle-orm";
import { schema, tiers, type JobStatus, type Tx } from "../db/index.ts";
import { localEngine } from "../engines/index.ts";
import { AppError, newId } from "../platform/index.ts";
import { recordConsent } from "../safety/index.ts";
import { chooseQueue } from "../scheduling/index.ts";
import type { Services } from "../services/index.ts";
import { admit } from "./admit.ts";
import { hint } from "./hint.ts";
import type { SubmitRequest } from "./kinds.ts";
import { letNextOut } from "./let-next-out.ts";
import { loadInputs, type InputImages } from "./load-inputs.ts";
import { parseSubmit } from "./parse-submit.ts";
import { rememberRequest } from "./remember-request.ts";

export interface Submitter {
  readonly userId: string;
  readonly isGuest: boolean;
}

export interface SubmitOptions {
  readonly submitter: Submitter;
  readonly idempotencyKey?: string;
  readonly retry?: { readonly of: string; readonly number: number };
}

export interface Submitted {
  readonly id: string;
  readonly status: JobStatus;
}

/**
 * Accepts a job: everything is checked and stored in one transaction, then the work is started. Throws AppError with
 * `bad_request`, `consent_required`, `not_found`, `no_engine`, `mask_size`, `output_too_large`, `quota_exceeded`,
 * `queue_full`, `idempotency_mismatch` or `conflict` (the key's job is gone); nothing is stored then.
 */
export async function submit(services: Services, input: unknown, options: SubmitOptions): Promise<Submitted> {
  const request = parseSubmit(input);
  const id = newId();
  const accepted = await services.db.transaction((tx) => accept(tx, services, { id, request, options }));
  if (accepted.known) return accepted.known;
  hint(services, [{ id, ownerId: options.submitter.userId, revision: 1 }]);
  services.log.info({ jobId: id, kind: request.kind, queue: accepted.queue }, "job accepted");
  // Not awaited: the job is accepted, and what starts it cannot fail it.
  void letNextOut(services, accepted.queue);
  return { id, status: "pending" };
}

interface Acceptance {
  readonly id: string;
  readonly request: SubmitRequest;
  readonly options: SubmitOptions;
}

async function accept(
  tx: Tx,
  services: Services,
  { id, request, options }: Acceptance,
): Promise<{ known: Submitted; queue: "" } | { known: null; queue: string }> {
  const { submitter, idempotencyKey: key } = options;
  const ownerId = submitter.userId;
  if (key !== undefined) {
    const knownId = await rememberRequest(tx, { ownerId, key, request, jobId: id });
    if (knownId) return { known: await readStatus(tx, knownId), queue: "" };
  }
  const queue = await chooseQueue(tx, services.config, request.kind);
  const inputs = await loadInputs(tx, ownerId, request);
  await admit(tx, services.config, { ownerId, isGuest: submitter.isGuest, queue });
  const person = inputs.get("person");
  if (person) await recordConsent(tx, { ownerId, storedSha256: person.storedSha256 });
  await insertJob(tx, { id, request, options, queue, inputs });
  return { known: null, queue };
}

/** A key outlives its job: how a job that is gone ended is not known any more, and its result is gone with it. */
async function readStatus(tx: Tx, id: string): Promise<Submitted> {
  const result = await tx.execute<{ status: JobStatus }>(
    sql`select status from ${schema.jobs} where id = ${id}`,
  );
  const [job] = result.rows;
  if (!job)
    throw new AppError(
      "conflict",
      "The job of this Idempotency-Key has ended and was removed. Use a new key to run it again.",
    );
  return { id, status: job.status };
}

/** The row, its story's first line and its links in one statement. */
async function insertJob(tx: Tx, job: Acceptance & { queue: string; inputs: InputImages }): Promise<void> {
  const { id, request, options, queue, inputs } = job;
  const { jobs, jobEvents, jobInputs } = schema;
  const row = tx.insert(jobs).values({
    id,
    ownerId: options.submitter.userId,
    kind: request.kind,
    status: "pending",
    tier: tiers.normal,
    params: request.params,
    queue,
    engine: localEngine.name,
    retention: request.retention,
    retryOf: options.retry?.of ?? null,
    retryNumber: options.retry?.number ?? null,
  });
  const inserted = tx.$with("inserted").as(row.returning({ id: jobs.id }));
  const event = { jobId: id, revision: 1, type: "created", status: "pending", data: { queue } } as const;
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
