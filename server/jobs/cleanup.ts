import { and, eq, gt, inArray, not, sql, type SQL } from "drizzle-orm";
import {
  ago,
  deleteInBatches,
  duration,
  finalStatuses,
  missedSince,
  openStatuses,
  schema,
  surelyAgo,
  type Tx,
} from "../db/index.ts";
import { deleteUnusedRows, discardObjects, lockRows } from "../images/index.ts";
import { keepFigures } from "../monitoring/index.ts";
import { AppError, type Config } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { isFinal } from "./job.ts";
import { get, type JobAddress } from "./read.ts";

const { jobs, jobOutputs, users, sessions, images } = schema;

const pageSize = 200;

/**
 * Removes ephemeral jobs that were acknowledged, or some time after a complete answer, or long after their end; also
 * their results and the inputs that came with them, unless another job uses them or their owner does.
 */
export async function expireEphemeral(services: Services): Promise<string[]> {
  const removed: string[] = [];
  let due = await readDue(services, null);
  while (due.length > 0) {
    for (const id of due) if (await tryRemove(services, id)) removed.push(id);
    // By id: jobs that cannot be removed do not keep out those behind them.
    due = due.length < pageSize ? [] : await readDue(services, due.at(-1) ?? null);
  }
  return removed;
}

async function readDue({ db, config }: Services, after: string | null): Promise<string[]> {
  const { ephemeralAfterAnswerMs, ephemeralMaxMs } = config.retention;
  const due = await db
    .select({ id: jobs.id })
    .from(jobs)
    .where(sql`${jobs.retention} = 'ephemeral' and ${jobs.endedAt} is not null
      and (${after}::uuid is null or ${jobs.id} > ${after}::uuid) and (
      ${jobs.ackedAt} is not null
      or ${jobs.answeredAt} < ${ago(ephemeralAfterAnswerMs)}
      or ${jobs.endedAt} < ${surelyAgo(ephemeralMaxMs)})`)
    .orderBy(jobs.id)
    .limit(pageSize);
  return due.map(({ id }) => id);
}

/** False when the job could not be removed now; the next pass tries again. */
export async function tryRemove(services: Services, id: string): Promise<boolean> {
  try {
    await removeJob(services, id);
    return true;
  } catch (error) {
    services.log.error({ err: error, jobId: id }, "ephemeral job not removed, the next pass tries again");
    return false;
  }
}

/**
 * Removes one job with its otherwise unused pictures. All rows go in one transaction: a crash leaves everything or only
 * files without rows, which `sweepOrphanObjects` removes. Idempotent.
 */
export async function removeJob(services: Services, id: string): Promise<void> {
  const storageKeys = await services.db.transaction((tx) => deleteJobRows(tx, id));
  if (!storageKeys) return;
  await discardObjects(services, storageKeys);
  services.log.info({ jobId: id }, "ephemeral job removed after delivery");
}

/** An upload of this time before its job counts as made for it. */
const uploadedForMs = 3_600_000;

/**
 * SQL condition on a job and its input: the picture was there before, so it is not the job's. A selection is made on a picture
 * that the user goes on working with; one that came with the request, in the transaction of the job, has the same time as the
 * job, which is kept in milliseconds.
 */
const wasThere = sql`(coalesce(${images.addedAt}, ${images.createdAt})::timestamptz(3)
  < ${jobs.createdAt} - case when ${jobs.kind} = 'segment' then interval '0' else ${duration(uploadedForMs)} end)`;

/** Null when the job was removed before. Locks in the order job, pictures, links, as everywhere, to avoid deadlocks. */
async function deleteJobRows(tx: Tx, id: string): Promise<string[] | null> {
  const { jobInputs, jobOutputs } = schema;
  const [job] = await tx.select({ id: jobs.id }).from(jobs).where(eq(jobs.id, id)).for("update");
  if (!job) return null;
  const inputs = tx
    .select({ id: jobInputs.imageId })
    .from(jobInputs)
    .innerJoin(jobs, eq(jobs.id, jobInputs.jobId))
    .innerJoin(images, eq(images.id, jobInputs.imageId))
    .where(and(eq(jobInputs.jobId, id), not(wasThere)));
  const outputs = tx.select({ id: jobOutputs.imageId }).from(jobOutputs).where(eq(jobOutputs.jobId, id));
  const pictureIds = (await inputs.union(outputs)).map((link) => link.id);
  await lockRows(tx, pictureIds);
  await keepFigures(tx, [id]);
  await tx.delete(jobs).where(eq(jobs.id, id));
  return deleteUnusedRows(tx, pictureIds);
}

/** Jobs of one transaction. */
const batchOfJobs = 100;

/**
 * Removes a user's ended jobs with their stories and logs; their pictures stay. Ends early when the signal aborts. Returns
 * the number of open jobs that are left.
 */
export async function removeJobsOf(
  { db }: Pick<Services, "db">,
  ownerId: string,
  signal: AbortSignal,
): Promise<number> {
  for (let removed = batchOfJobs; removed === batchOfJobs && !signal.aborted;)
    removed = await db.transaction(async (tx) => {
      const ended = await tx
        .select({ id: jobs.id })
        .from(jobs)
        .where(and(eq(jobs.ownerId, ownerId), inArray(jobs.status, [...finalStatuses])))
        .orderBy(jobs.id)
        .limit(batchOfJobs)
        .for("update", { skipLocked: true });
      const ids = ended.map(({ id }) => id);
      if (ids.length === 0) return 0;
      await keepFigures(tx, ids);
      await tx.delete(jobs).where(inArray(jobs.id, ids));
      return ids.length;
    });
  return db.$count(jobs, and(eq(jobs.ownerId, ownerId), inArray(jobs.status, [...openStatuses])));
}

/**
 * The client reports that it has the full result. An ephemeral job is removed at once; a kept one stays. `removed` is
 * true for each of several simultaneous calls. Throws `not_found`, and `conflict` while the job is open.
 */
export async function ack(services: Services, address: JobAddress): Promise<{ removed: boolean }> {
  const job = await get(services, address);
  if (!isFinal(job.status)) throw new AppError("conflict", "The job has not ended yet.");
  const result = await services.db.execute<{ retention: string }>(sql`
    update ${schema.jobs} set acked_at = coalesce(acked_at, now()) where id = ${job.id} returning retention`);
  const [row] = result;
  if (row && row.retention !== "ephemeral") return { removed: false };
  // No row: another call has removed the job since it was read.
  await removeJob(services, job.id);
  return { removed: true };
}

/**
 * Records that the full result of an ended job was sent; starts the time after which an ephemeral job is removed.
 * Never throws: without the record the job only stays longer.
 */
export async function noteAnswer(services: Pick<Services, "db" | "log">, id: string): Promise<void> {
  try {
    await services.db.execute(sql`
      update ${jobs} set answered_at = coalesce(answered_at, now())
      where id = ${id} and retention = 'ephemeral' and ended_at is not null`);
  } catch (error) {
    services.log.warn({ err: error, jobId: id }, "complete answer not noted");
  }
}

/**
 * Records that the original of a picture was sent completely, which is the full result of each job with this picture
 * alone. For several pictures the client acknowledges the job or downloads the bundle.
 */
export async function noteServed(services: Pick<Services, "db" | "log">, imageId: string): Promise<void> {
  try {
    const result = await services.db.execute<{ id: string }>(sql`
      select job_id as id from ${jobOutputs}
      where job_id in (select job_id from ${jobOutputs} where image_id = ${imageId})
      group by job_id having count(*) = 1`);
    for (const { id } of result) await noteAnswer(services, id);
  } catch (error) {
    services.log.warn({ err: error, imageId }, "complete answer not noted");
  }
}

/** Removes old events of ended jobs; the jobs themselves stay. */
export async function pruneEvents({ db, config }: Pick<Services, "db" | "config">): Promise<void> {
  const { jobEvents, jobs } = schema;
  const age = duration(config.retention.eventsMs);
  const hasEnded = sql`exists (select from ${jobs} j where j.id = ${jobEvents.jobId} and j.ended_at is not null)`;
  await deleteInBatches(db, jobEvents, sql`${jobEvents.createdAt} < now() - ${age} and ${hasEnded}`);
}

/** Removes idempotency keys after `config.retention.keysMs`. */
export async function pruneKeys({ db, config }: Pick<Services, "db" | "config">): Promise<void> {
  const { idempotencyKeys } = schema;
  const isOld = sql`${idempotencyKeys.createdAt} < ${surelyAgo(config.retention.keysMs)}`;
  await deleteInBatches(db, idempotencyKeys, isOld);
}

/** Longer than any window of the sign-in limits. */
const limitsKeptMs = 86_400_000;
/** Further ahead lies a counter of a clock that was set back since: it would refuse sign-ins until that time. */
const clockErrorMs = 600_000;

/** Removes expired sessions, links to a new password and verifications, and sign-in counters that no limit reads any more. */
export async function pruneSignIns({ db }: Pick<Services, "db">): Promise<void> {
  const { passwordResets, rateLimits, sessions, verifications } = schema;
  for (const table of [passwordResets, verifications])
    await deleteInBatches(db, table, sql`${table.expiresAt} < now()`);
  // A guest has no other way back.
  const isOver = sql`${sessions.expiresAt} < now() - ${missedSince(sessions.updatedAt)}`;
  await deleteInBatches(db, sessions, isOver);
  const nowMs = sql`(extract(epoch from now()) * 1000)::bigint`;
  const kept = sql`between ${nowMs} - ${limitsKeptMs}::bigint and ${nowMs} + ${clockErrorMs}::bigint`;
  await deleteInBatches(db, rateLimits, sql`${rateLimits.lastRequest} not ${kept}`);
}

/** Limit of one pass; the next pass continues. */
const maxRemoved = 20;
const batchSize = 20;

/**
 * Removes guests with all their data who were not seen for `config.retention.guestMs` and have no open job: the rows of
 * one guest in one transaction, the files after it. Returns the removed ids.
 */
export async function expireGuests(services: Services): Promise<string[]> {
  const removed: string[] = [];
  // Pages by id, so that guests who cannot be removed do not block the others.
  for (let after = ""; removed.length < maxRemoved;) {
    const due = await services.db
      .select({ id: users.id })
      .from(users)
      .where(and(gt(users.id, after), isExpired(services.config)))
      .orderBy(users.id)
      .limit(batchSize);
    for (const { id } of due) if (await tryRemoveGuest(services, id)) removed.push(id);
    const last = due.at(-1);
    if (!last || due.length < batchSize) return removed;
    after = last.id;
  }
  return removed;
}

async function tryRemoveGuest(services: Services, id: string): Promise<boolean> {
  try {
    return await removeGuest(services, id);
  } catch (error) {
    services.log.error({ err: error, userId: id }, "guest not removed, the next pass tries again");
    return false;
  }
}

/** SQL condition. `updated_at` shows the last visit, since a session in use is renewed once a day. */
function isExpired({ retention }: Config): SQL {
  const since = surelyAgo(retention.guestMs);
  return sql`${users.isAnonymous} and ${users.createdAt} < ${since}
    and not exists (select 1 from ${sessions} s where s.user_id = ${users.id} and s.updated_at >= ${since})
    and not exists (select 1 from ${jobs} j where j.owner_id = ${users.id} and j.status in ${[...openStatuses]})`;
}

async function removeGuest(services: Services, id: string): Promise<boolean> {
  const storageKeys = await services.db.transaction((tx) => deleteGuestRows(tx, services.config, id));
  if (!storageKeys) return false;
  await discardObjects(services, storageKeys);
  services.log.info({ userId: id, pictures: storageKeys.length }, "guest removed who did not come back");
  return true;
}

/** Null when the guest came back, created an account, or another process removes the guest at this moment. */
async function deleteGuestRows(tx: Tx, config: Config, id: string): Promise<string[] | null> {
  const locked = await tx
    .select({ id: users.id })
    .from(users)
    .where(eq(users.id, id))
    .for("update", { skipLocked: true });
  if (locked.length === 0) return null;
  // Checked again under the lock in a separate statement, which sees visits and submits since; later ones wait.
  const still = await tx
    .select({ id: users.id })
    .from(users)
    .where(sql`${users.id} = ${id} and ${isExpired(config)}`);
  if (still.length === 0) return null;
  await tx.select({ id: jobs.id }).from(jobs).where(eq(jobs.ownerId, id)).orderBy(jobs.id).for("update");
  await tx
    .select({ id: images.id })
    .from(images)
    .where(eq(images.ownerId, id))
    .orderBy(images.id)
    .for("update");
  await tx.delete(jobs).where(eq(jobs.ownerId, id));
  const pictures = await tx
    .delete(images)
    .where(eq(images.ownerId, id))
    .returning({ storageKey: images.storageKey });
  await tx.delete(users).where(eq(users.id, id));
  return pictures.map(({ storageKey }) => storageKey);
}
