import { and, eq, isNull, type SQL, sql } from "drizzle-orm";
import { type PromptTemplate, schema, type Tx } from "../db/index.ts";
import type { InputRole } from "../engines.ts";
import {
  hasShape,
  type OrderedJob,
  passToKey,
  priceOfOne,
  reopenBatches,
  submit,
  type Submitter,
} from "../jobs/index.ts";
import { AppError, type ErrorCode, toAppError } from "../platform/index.ts";
import { consentOfPlace } from "../safety.ts";
import type { Services } from "../services.ts";

const { auditEntries, batches, batchJobs, batchSteps, jobs, jobOutputs, users } = schema;

/** Stores what is to follow the jobs of a batch. */
export async function storeSteps(tx: Tx, batchId: string, ordered: readonly OrderedJob[]): Promise<void> {
  const rows = ordered.flatMap(({ steps }, position) =>
    steps.map((step, at) => {
      const { inputs, ...request } = step.job.request;
      const others = Object.entries(inputs).filter(([role]) => role !== step.role);
      return {
        batchId,
        position,
        number: at + 1,
        role: step.role,
        request: { ...request, inputs: Object.fromEntries(others) },
        template: step.job.options.template,
        maxPriceUsd: priceOfOne(step),
      };
    }),
  );
  if (rows.length > 0) await tx.insert(batchSteps).values(rows);
}

/** A step whose job before has completed. */
interface DueStep {
  readonly batchId: string;
  readonly position: number;
  readonly number: number;
  readonly role: InputRole;
  readonly request: Readonly<Record<string, unknown>>;
  /** What the prompts of the request were made from. */
  readonly template: PromptTemplate | null;
  /** The job before, and its result; null where it was deleted. */
  readonly jobId: string;
  readonly imageId: string | null;
  readonly ownerId: string;
  /** The API key that sent the job before. */
  readonly apiKeyId: string | null;
  readonly isGuest: boolean;
  /** The job before was asked to stop and completed all the same, or its owner is suspended. */
  readonly isUnwanted: boolean;
  /** That key was revoked; one that came to the end it was made with still follows. */
  readonly isRevoked: boolean;
  /** The next outfit change of the same person: the statement about the photo of the first counts. */
  readonly isPass: boolean;
  readonly isStated: boolean;
  readonly dueForMs: number;
}

type Place = Pick<DueStep, "batchId" | "position">;

const pageSize = 100;

interface Reach {
  /** Of all batches unless given. */
  readonly batchId?: string;
}

/** Due steps by batch and place, after the given place. A batch with one has not ended: `end_batch_if_done`. */
async function readDue(
  { db }: Services,
  { batchId }: Reach,
  after: Place | null,
): Promise<readonly DueStep[]> {
  return db.execute<DueStep & Record<string, unknown>>(sql`
    select s.batch_id as "batchId", s.position, s.number, s.role, s.request, s.template, j.id as "jobId", j.owner_id as "ownerId", j.api_key_id as "apiKeyId",
      (select o.image_id from ${jobOutputs} o where o.job_id = j.id order by o.position limit 1) as "imageId",
      coalesce(u.is_anonymous, false) as "isGuest",
      j.cancel_requested_at is not null or coalesce(u.banned, false) as "isUnwanted",
      exists (select from ${auditEntries} a
        where a.kind = 'key.revoked' and a.outcome = 'ok' and a.object_id = j.api_key_id) as "isRevoked",
      j.kind = 'outfit_change' and s.request ->> 'kind' = j.kind as "isPass",
      ${consentOfPlace({ batchId: sql`s.batch_id`, position: sql`s.position` })} as "isStated",
      (extract(epoch from now() - j.ended_at) * 1000)::float8 as "dueForMs"
    from ${batches} b cross join lateral (select distinct on (position) * from ${batchSteps}
      where batch_id = b.id and begun_at is null and stopped_code is null
        ${after === null ? sql`` : sql`and (batch_id, position) > (${after.batchId}::uuid, ${after.position})`}
      order by position, number) s
    join ${batchJobs} p on p.batch_id = s.batch_id and p.position = s.position
    join ${jobs} j on j.id = p.job_id and j.status = 'completed'
    join ${users} u on u.id = j.owner_id
    where b.ended_at is null and b.deleted_at is null
      ${batchId === undefined ? sql`` : sql`and b.id = ${batchId}`}
      ${after === null ? sql`` : sql`and b.id >= ${after.batchId}::uuid`}
    order by s.batch_id, s.position limit ${pageSize}`);
}

/**
 * Begins each step whose job before has completed, by an ordinary submit under a key of its own: of many who begin a step at
 * the same moment one makes its job. What is refused ends its place, unless there is only no room now. A duty, besides.
 * Returns how many began.
 */
export async function beginSteps(services: Services, reach: Reach = {}): Promise<number> {
  let begun = 0;
  let hasPassed = false;
  let last: Place | null = null;
  do {
    const due: readonly DueStep[] = await readDue(services, reach, last);
    for (const step of due) {
      const outcome = await begin(services, step);
      if (outcome === "begun") begun += 1;
      if (outcome === "passed") hasPassed = true;
    }
    last = due.length < pageSize ? null : (due.at(-1) ?? null);
  } while (last !== null);
  return hasPassed ? begun + (await beginSteps(services, reach)) : begun;
}

/** `passed`: nothing was to be done, and the next step is due. */
async function begin(services: Services, step: DueStep): Promise<"begun" | "passed" | "refused"> {
  const { batchId, position, number, role, request, imageId, ownerId, apiKeyId, isGuest, isPass } = step;
  const stop = stopOf(step);
  if (stop) {
    await stopPlace(services, step, stop);
    return "refused";
  }
  try {
    await submit(
      services,
      { ...request, inputs: { ...Object(request["inputs"]), [role]: imageId } },
      {
        // What only an admin may ask for was checked when the batch was accepted.
        submitter: { userId: ownerId, isGuest, isAdmin: true, ...(apiKeyId ? { keyId: apiKeyId } : {}) },
        template: step.template ?? undefined,
        isPass,
        ownKey: `step:${batchId}:${position}:${number}`,
        alongside: (tx, newId) => takePlace(tx, step, newId),
      },
    );
    return "begun";
  } catch (error) {
    const refusal = toAppError(error);
    if (hasShape(refusal)) return passStep(services, step);
    if (!staysDue(refusal, step)) await stopPlace(services, step, refusal);
    services.log.info({ batchId, position, number, code: refusal.code }, "step of a batch refused");
    return "refused";
  }
}

function stopOf({ isUnwanted, isRevoked, isPass, isStated, imageId }: DueStep): Stop | null {
  if (isUnwanted) return unwanted;
  if (isRevoked) return revoked;
  if (isPass && !isStated) return new AppError("consent_required");
  return imageId === null ? gone : null;
}

const unwanted = { code: "cancelled", message: "The job before it was cancelled." } as const;
const revoked = { code: "cancelled", message: "The API key that sent the batch was revoked." } as const;
const gone = { code: "input_missing", message: "The result that it was to go on with is gone." } as const;

/** There is no room or no database now; `conflict`: another process began it or its place was stopped meanwhile. */
const passing: ReadonlySet<ErrorCode> = new Set([
  "conflict",
  "quota_exceeded",
  "queue_full",
  "database_unavailable",
  "storage_unavailable",
]);
/** How long a fault of ours may keep a place from its end. */
const patienceMs = 10 * 60_000;

function staysDue({ code }: Pick<AppError, "code">, { dueForMs }: DueStep): boolean {
  return passing.has(code) || (code === "internal" && dueForMs < patienceMs);
}

/**
 * The job of a step takes the place of the one before. The condition on the step settles it beside a cancel: who is later
 * waits for the row, and then finds it begun or stopped. Throws `conflict` where there is nothing to take.
 */
async function takePlace(
  tx: Tx,
  { batchId, position, number, jobId }: DueStep,
  newId: string,
): Promise<void> {
  const [row] = await tx.execute<{ taken: boolean }>(sql`
    with taken as (update ${batchSteps} set begun_at = clock_timestamp(), source_job_id = ${jobId}
      where batch_id = ${batchId} and position = ${position} and number = ${number}
        and begun_at is null and stopped_code is null returning batch_id),
    moved as (update ${batchJobs} set job_id = ${newId}
      where batch_id = (select batch_id from taken) and position = ${position} and job_id = ${jobId} returning 1)
    select exists (select from moved) or exists (select from ${batchJobs}
      where batch_id = ${batchId} and position = ${position} and job_id = ${newId}) as taken`);
  if (row?.taken !== true) throw new AppError("conflict");
}

/** Nothing is to be done in a step: the result before is also its own, and what follows goes on with that. */
async function passStep(
  { db }: Services,
  { batchId, position, number }: DueStep,
): Promise<"passed" | "refused"> {
  return db.transaction(async (tx) => {
    const isStep = and(
      eq(batchSteps.batchId, batchId),
      eq(batchSteps.position, position),
      eq(batchSteps.number, number),
    );
    const isDue = and(isStep, isNull(batchSteps.begunAt), isNull(batchSteps.stoppedCode));
    const passed = await tx
      .update(batchSteps)
      .set({ begunAt: sql`clock_timestamp()` })
      .where(isDue)
      .returning({ number: batchSteps.number });
    await tx.execute(sql`select end_batch_if_done(${batchId})`);
    return passed.length > 0 ? "passed" : "refused";
  });
}

interface Stop {
  readonly code: ErrorCode | "cancelled";
  readonly message: string;
}

/** Ends a place: its result stays, and nothing follows until it is tried again. */
async function stopPlace({ db }: Services, { batchId, position }: Place, stop: Stop): Promise<void> {
  await db.transaction(async (tx) => {
    await stopWhere(tx, and(eq(batchSteps.batchId, batchId), eq(batchSteps.position, position)), stop);
    await tx.execute(sql`select end_batch_if_done(${batchId})`);
  });
}

async function stopWhere(tx: Tx, where: SQL | undefined, { code, message }: Stop) {
  return tx
    .update(batchSteps)
    .set({ stoppedCode: code, stoppedMessage: message })
    .where(and(where, isNull(batchSteps.begunAt), isNull(batchSteps.stoppedCode)))
    .returning({ batchId: batchSteps.batchId, position: batchSteps.position });
}

/** Shows at once that a revoked key begins nothing more, which holds without it: see `readDue`. */
export async function stopStepsOfKey(
  { db }: Pick<Services, "db">,
  { userId, id }: { readonly userId: string; readonly id: string },
): Promise<void> {
  await db.transaction(async (tx) => {
    const ofKey = sql`exists (select from ${batchJobs} p join ${jobs} j on j.id = p.job_id
      where p.batch_id = ${batchSteps.batchId} and p.position = ${batchSteps.position}
        and j.api_key_id = ${id} and j.owner_id = ${userId})`;
    const stopped = await stopWhere(tx, ofKey, revoked);
    for (const batchId of new Set(stopped.map((step) => step.batchId)))
      await tx.execute(sql`select end_batch_if_done(${batchId})`);
  });
}

/** Before its jobs are cancelled, so that none of them is followed. Returns how many places were between two jobs. */
export async function stopSteps({ db }: Services, batchId: string): Promise<number> {
  return db.transaction(async (tx) => {
    const stop = { code: "cancelled", message: "The batch was cancelled." } as const;
    const stopped = await stopWhere(tx, eq(batchSteps.batchId, batchId), stop);
    if (stopped.length === 0) return 0;
    await tx.execute(sql`select end_batch_if_done(${batchId})`);
    const between = await tx
      .select({ position: batchJobs.position })
      .from(batchJobs)
      .innerJoin(jobs, and(eq(jobs.id, batchJobs.jobId), eq(jobs.status, "completed")))
      .where(eq(batchJobs.batchId, batchId));
    const positions = new Set(stopped.map(({ position }) => position));
    return between.filter(({ position }) => positions.has(position)).length;
  });
}

/**
 * Makes what was stopped due again, under the key of who asks; a batch that had ended is open again. Returns the places that
 * go on at once: their job has completed.
 */
export async function resumeSteps(
  { db }: Services,
  { batchId, keyId }: { readonly batchId: string } & Pick<Submitter, "keyId">,
): Promise<ReadonlySet<number>> {
  return db.transaction(async (tx) => {
    const resumed = await tx.execute<{ position: number; status: string; jobId: string }>(sql`
      update ${batchSteps} s set stopped_code = null, stopped_message = null
      from ${batchJobs} p join ${jobs} j on j.id = p.job_id
      where s.batch_id = ${batchId} and s.stopped_code is not null and s.begun_at is null
        and p.batch_id = s.batch_id and p.position = s.position and j.ended_at is not null
      returning s.position, j.status, j.id as "jobId"`);
    const followed = resumed.filter(({ status }) => status === "completed");
    const due = new Set(followed.map(({ position }) => position));
    await passToKey(tx, { jobIds: followed.map(({ jobId }) => jobId), keyId });
    if (due.size > 0) await tx.execute(reopenBatches(sql`${batches.id} = ${batchId}`));
    return due;
  });
}
