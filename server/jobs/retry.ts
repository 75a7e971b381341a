import { and, desc, eq, inArray, isNull, type SQL, sql, type SQLWrapper } from "drizzle-orm";
import { hasRight, requireRight } from "../accounts/plain.ts";
import { type Asked, type Db, schema, type Tier, tiers, type Tx } from "../db/index.ts";
import { z } from "zod";
import { AppError, isId } from "../platform/index.ts";
import { consentOfPlace } from "../safety.ts";
import type { Services } from "../services.ts";
import { isFinal, type Job, tierOf } from "./job.ts";
import { agreedSchema } from "./agreement.ts";
import { kindParams } from "./request.ts";
import type { Submitter } from "./draft.ts";
import { submit, type Submitted } from "./submit.ts";

interface RetryInput extends Bounds {
  readonly submitter: Submitter;
  readonly id: string;
}

/** Who may run the new job, and for how much. */
export const retryBounds = z.object({
  ownOnly: z
    .boolean()
    .default(false)
    .describe("Keeps it on the studio's own machines; a job that was kept there stays there in any case."),
  agreed: agreedSchema.optional().describe("By default what was agreed for the failed job."),
});

type Bounds = z.input<typeof retryBounds>;

/**
 * Runs a failed or cancelled job again as a new job with the same request. Two clicks make one job: a call while the
 * new job is open, or at the same moment, returns that job. Throws `not_found`, `conflict` when the job is neither
 * failed nor cancelled, `input_missing` when an input picture was removed, and what `submit` throws.
 */
export async function retry(
  services: Services,
  { submitter, id, ...bounds }: RetryInput,
): Promise<Submitted> {
  if (!isId(id)) throw new AppError("not_found");
  const { jobs } = schema;
  const [job] = await services.db
    .select()
    .from(jobs)
    .where(and(eq(jobs.id, id), eq(jobs.ownerId, submitter.userId)));
  if (!job) throw new AppError("not_found");
  if (job.status !== "failed" && job.status !== "cancelled") {
    throw new AppError("conflict", "Only a failed or cancelled job can be run again.");
  }
  const { batchJobs } = schema;
  const itsBatch = services.db
    .select({ id: batchJobs.batchId })
    .from(batchJobs)
    .where(eq(batchJobs.jobId, id));
  await requireRightToFollow(services.db, submitter, itsBatch);
  // Read the number first: if another caller's number is visible, the query below must find its job.
  const lastNumber = await findLastNumber(services, job);
  const last = await findLastRetry(services, id);
  if (last && !isFinal(last.status)) return { id: last.id, status: last.status };
  const number = Math.max(last?.retryNumber ?? 0, lastNumber) + 1;
  const request = {
    ...(await readRequest(services, job)),
    tier: readTier(job, submitter),
    ...boundsOf(job, bounds),
  };
  const options = {
    submitter,
    ownKey: `${keyPrefix(id)}${number}`,
    retry: { of: id, number },
    template: job.template ?? undefined,
    isPass: await isPass(services.db, job),
    ...((await isWaitedFor(services, id))
      ? { alongside: (tx: Tx, newId: string) => takePlace(tx, id, newId) }
      : {}),
  };
  return submit(services, request, options).catch(async (error: unknown) => {
    const first = isOfAnother(error) ? await findLastRetry(services, id) : null;
    if (!first) throw error;
    return { id: first.id, status: first.status };
  });
}

/**
 * Steps of a batch are bought when the jobs before them complete. Throws `forbidden` for a key without the right to spend while
 * some that may cost money have not begun.
 */
export async function requireRightToFollow(
  db: Db,
  submitter: Submitter,
  batchIds: readonly string[] | SQLWrapper,
): Promise<void> {
  if (hasRight(submitter, "spend")) return;
  const { batchSteps } = schema;
  const isCostly = sql`${batchSteps.maxPriceUsd} is distinct from 0`;
  const costly = and(inArray(batchSteps.batchId, batchIds), isNull(batchSteps.begunAt), isCostly);
  if ((await db.$count(batchSteps, costly)) > 0) requireRight(submitter, "spend");
}

/**
 * What follows these completed jobs is sent by who tried it again: with that key, or with a session where there is none. That one
 * wants them, whoever asked them to stop before.
 */
export async function passToKey(
  tx: Tx,
  { jobIds, keyId = null }: { readonly jobIds: readonly string[]; readonly keyId: string | null | undefined },
): Promise<void> {
  const { jobs } = schema;
  if (jobIds.length > 0)
    await tx
      .update(jobs)
      .set({ apiKeyId: keyId, cancelRequestedAt: null })
      .where(inArray(jobs.id, [...jobIds]));
}

/** Whether the statement about the photo of its place counts for the job. Throws `consent_required` where that was withdrawn. */
async function isPass(db: Db, { id, kind }: Job): Promise<boolean> {
  if (kind !== "outfit_change") return false;
  const isStated = consentOfPlace({ batchId: sql`b.batch_id`, position: sql`b.position` });
  const [place] = await db.execute<{ isStated: boolean }>(
    sql`select ${isStated} as "isStated" from ${schema.batchJobs} b where b.job_id = ${id}`,
  );
  if (place && !place.isStated) throw new AppError("consent_required");
  return place !== undefined;
}

/** Whether a batch, in which a job is from its first moment or never, or a garment waits for what the job makes. */
async function isWaitedFor({ db }: Services, id: string): Promise<boolean> {
  const { batchJobs, wardrobeItems } = schema;
  return (
    (await db.$count(batchJobs, and(eq(batchJobs.jobId, id), isKeptBatch(batchJobs.batchId)))) > 0 ||
    (await db.$count(wardrobeItems, eq(wardrobeItems.cutOutJobId, id))) > 0
  );
}

/** A removed one is followed by nothing. */
const isKeptBatch = (batchId: SQLWrapper) =>
  sql`exists (select from ${schema.batches} b where b.id = ${batchId} and b.deleted_at is null)`;

/** What waited for the old job waits for the new one. */
async function takePlace(tx: Tx, id: string, newId: string): Promise<void> {
  const { wardrobeItems } = schema;
  await takePlaceInBatch(tx, id, newId);
  await tx.update(wardrobeItems).set({ cutOutJobId: newId }).where(eq(wardrobeItems.cutOutJobId, id));
}

/** The new job takes the place of the old one in its batch, which is open again, and what was to follow there follows it. */
async function takePlaceInBatch(tx: Tx, id: string, newId: string): Promise<void> {
  const { batches, batchJobs, batchSteps } = schema;
  await tx.execute(sql`
    with moved as (update ${batchJobs} set job_id = ${newId}
        where job_id = ${id} and ${isKeptBatch(batchJobs.batchId)} returning batch_id, position),
      resumed as (update ${batchSteps} s set stopped_code = null, stopped_message = null from moved
        where s.batch_id = moved.batch_id and s.position = moved.position and s.begun_at is null)
    ${reopenBatches(sql`${batches.id} in (select batch_id from moved)`)}`);
}

/**
 * Opens batches again that have ended. It takes the lock of those that have not, too: `end_batch_if_done` may be looking at this
 * moment, without what this transaction has written.
 */
export function reopenBatches(which: SQL): SQL {
  const { batches } = schema;
  return sql`update ${batches} set ended_at = null, round = round + (ended_at is not null)::int where ${which}`;
}

function boundsOf(job: Job, { ownOnly = false, agreed }: Bounds): Bounds {
  return { ownOnly: job.ownOnly || ownOnly, agreed: agreed ?? job.agreed ?? undefined };
}

/** What the job was asked for, but for who may run it. */
export async function readRequest(services: Services, job: Job) {
  return {
    kind: job.kind,
    params: readParams(job),
    inputs: await readInputIds(services, job),
    retention: job.retention,
    ...ownMarks(job),
    ...(await readWebhook(services, job)),
    ...requestedEngine(job),
  };
}

/** The owner and an admin retried at the same moment with different tiers; the first request wins. */
function isOfAnother(error: unknown): boolean {
  return error instanceof AppError && error.code === "idempotency_mismatch";
}

async function findLastRetry({ db }: Services, id: string): Promise<Job | null> {
  const { jobs } = schema;
  const [last] = await db
    .select()
    .from(jobs)
    .where(eq(jobs.retryOf, id))
    .orderBy(desc(jobs.retryNumber))
    .limit(1);
  return last ?? null;
}

const keyPrefix = (id: string) => `retry:${id}:`;

/** The number of the last retry, read from the keys, since they outlive an ephemeral job. */
async function findLastNumber({ db }: Services, { id, ownerId }: Job): Promise<number> {
  const { idempotencyKeys: keys } = schema;
  const number = sql<number>`coalesce(max(substring(${keys.key} from ':([0-9]{1,6})$')::int), 0)`;
  const [last] = await db
    .select({ number })
    .from(keys)
    .where(and(eq(keys.ownerId, ownerId), sql`starts_with(${keys.key}, ${keyPrefix(id)})`));
  return last?.number ?? 0;
}

/**
 * The given params and the drawn seed, without defaults of the workflow: the kind may not know them. Nor what the owner stated
 * then, which may be withdrawn: the stored statement counts.
 */
function readParams({ kind, params, placement }: Job): Record<string, unknown> {
  const given = placement?.asked && new Set([...placement.asked.params, "seed"]);
  const own = Object.entries({ ...placement?.asked?.unused, ...params }).filter(
    ([name, value]) =>
      name in kindParams[kind].shape &&
      value !== "" &&
      !(name === "consent" && value === true) &&
      (!given || given.has(name)),
  );
  return Object.fromEntries(own);
}

function ownMarks({ maxRetries, sessionId, metadata }: Job): Partial<Job> {
  return {
    ...(maxRetries === null ? {} : { maxRetries }),
    // A task of MCP that has ended stays as it ended.
    ...(sessionId === null || sessionId.startsWith("mcp:") ? {} : { sessionId }),
    ...(metadata === null ? {} : { metadata }),
  };
}

async function readWebhook({ db }: Services, { id }: Job): Promise<{ webhookUrl?: string }> {
  const { jobWebhooks } = schema;
  const [row] = await db
    .select({ webhookUrl: jobWebhooks.url })
    .from(jobWebhooks)
    .where(eq(jobWebhooks.jobId, id));
  return row ?? {};
}

/** Only admins keep a tier above `normal`. */
function readTier({ tier }: Job, { isAdmin = false }: Submitter): Tier {
  return tierOf(isAdmin ? tier : Math.min(tier, tiers.normal));
}

/** The requested engine, workflow and model, not those of a downgrade. */
function requestedEngine({ placement, engine, workflow }: Job): Partial<Record<keyof Asked, string>> {
  if (placement?.asked) {
    const { asked } = placement;
    return {
      ...(asked.engine ? { engine: asked.engine } : {}),
      ...(asked.workflow ? { workflow: asked.workflow } : {}),
      ...(asked.model ? { model: asked.model } : {}),
    };
  }
  const [wantedEngine, name] = placement?.downgrade?.from.split("/") ?? [engine, workflow];
  return wantedEngine === "comfyui" ? (name ? { workflow: name } : {}) : { engine: wantedEngine ?? engine };
}

async function readInputIds({ db }: Services, job: Job): Promise<Record<string, string>> {
  const { jobInputs, images } = schema;
  const inputs = await db
    .select({ role: jobInputs.role, imageId: jobInputs.imageId })
    .from(jobInputs)
    .innerJoin(images, eq(images.id, jobInputs.imageId))
    .where(and(eq(jobInputs.jobId, job.id), isNull(images.deletedAt)));
  // A purged picture has no link any more, so the counts differ.
  if (inputs.length < job.inputCount) throw new AppError("input_missing");
  return Object.fromEntries(inputs.map((input) => [input.role, input.imageId]));
}

/** `retry` for a job of any owner, for admins; the new job belongs to that owner and keeps a raised tier. */
export async function retryAny(services: Services, { id }: { id: string }): Promise<Submitted> {
  if (!isId(id)) throw new AppError("not_found");
  const { jobs, users } = schema;
  const [owner] = await services.db
    .select({
      userId: users.id,
      isAnonymous: users.isAnonymous,
      banned: users.banned,
      keyId: jobs.apiKeyId,
    })
    .from(jobs)
    .innerJoin(users, eq(users.id, jobs.ownerId))
    .where(eq(jobs.id, id));
  if (!owner) throw new AppError("not_found");
  if (owner.banned) throw new AppError("conflict", "The owner of this job is suspended.");
  const submitter = {
    userId: owner.userId,
    isGuest: owner.isAnonymous === true,
    isAdmin: true,
    // An admin's repeat stays within what the key of the job may spend.
    keyId: owner.keyId ?? undefined,
  };
  return retry(services, { submitter, id });
}
