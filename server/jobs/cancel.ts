import { sql, type SQL } from "drizzle-orm";
import { suspendedUsers } from "../accounts/plain.ts";
import { type JobStatus, schema } from "../db/index.ts";
import { AppError, isId } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { tryRemove } from "./cleanup.ts";
import { scheduleDispatch } from "./dispatch.ts";
import {
  amend,
  amendAll,
  claimedStatuses,
  heldBy,
  hint,
  isFinal,
  type Lease,
  openStatuses,
  transition,
  transitionAll,
} from "./job.ts";

export interface CancelAnswer {
  /** True when the job is cancelled or has a request to stop; false when the job had ended. */
  readonly cancelled: boolean;
  readonly status: JobStatus;
}

/**
 * Cancels a job of the owner: a waiting one at once, a claimed one by a request in its row. Its worker finds that; while a
 * provider has the job, the worker that follows its run does (`takeDueAttempts`). For an ended job `cancelled` is false.
 * Throws `not_found`.
 */
export async function cancel(
  services: Services,
  { ownerId, id }: { ownerId: string; id: string },
): Promise<CancelAnswer> {
  return stop(services, { id, own: sql`${schema.jobs.id} = ${id} and ${schema.jobs.ownerId} = ${ownerId}` });
}

/** `cancel` for a job of any owner; for admins. */
export async function cancelAny(services: Services, { id }: { id: string }): Promise<CancelAnswer> {
  return stop(services, { id, own: sql`${schema.jobs.id} = ${id}` });
}

interface Target {
  readonly id: string;
  /** SQL condition: the row, and that the caller may cancel it. */
  readonly own: SQL;
}

async function stop(services: Services, target: Target): Promise<CancelAnswer> {
  const { id, own } = target;
  if (!isId(id)) throw new AppError("not_found");
  const waiting = await transition(services.db, {
    from: ["pending", "queued"],
    to: "cancelled",
    where: own,
    event: "cancelled",
  });
  if (waiting) {
    hint(services, [waiting]);
    await scheduleDispatch(services, waiting.queue);
    return { cancelled: true, status: "cancelled" };
  }
  const running = await amend(services.db, {
    where: sql`${own} and status in ${[...claimedStatuses]} and cancel_requested_at is null`,
    set: { cancelRequestedAt: sql`now()` },
    event: "cancel_requested",
  });
  if (running) {
    hint(services, [running]);
    services.hints.publish({ type: "cancel", jobId: id });
    return { cancelled: true, status: running.status };
  }
  return readAnswer(services, target);
}

/** Both statements matched no row: the job has ended, has a cancel request already, or changed in between. */
async function readAnswer(services: Services, target: Target): Promise<CancelAnswer> {
  const { jobs } = schema;
  const [job] = await services.db
    .select({ status: jobs.status, asked: jobs.cancelRequestedAt })
    .from(jobs)
    .where(target.own);
  if (!job) throw new AppError("not_found");
  if (job.status === "pending" || job.status === "queued") return stop(services, target);
  return {
    cancelled: job.asked !== null && !isFinal(job.status),
    status: job.status,
  };
}

interface SessionName {
  readonly ownerId: string;
  readonly sessionId: string;
}

/**
 * Cancels the open jobs of a session of the owner, and notes that its name is cancelled. Race: a request that still stores jobs under the name
 * reads the note after its last job, and the note stands before the look for jobs, so one of the two finds every job.
 */
export async function cancelSession(services: Services, { ownerId, sessionId }: SessionName): Promise<void> {
  const { jobs, idempotencyKeys: keys } = schema;
  await services.db
    .insert(keys)
    .values({ ownerId, key: cancelledKey(sessionId), requestSha256: "", jobId: noJob })
    .onConflictDoUpdate({ target: [keys.ownerId, keys.key], set: { createdAt: sql`clock_timestamp()` } });
  const open = await services.db
    .select({ id: jobs.id })
    .from(jobs)
    .where(
      sql`${jobs.ownerId} = ${ownerId} and ${jobs.sessionId} = ${sessionId} and status in ${[...openStatuses]}`,
    );
  for (const { id } of open) await cancelQuietly(services, { ownerId, id });
}

/** One that is gone, or cannot be cancelled now, holds up none of the others. */
async function cancelQuietly(
  services: Services,
  job: { readonly ownerId: string; readonly id: string },
): Promise<void> {
  await cancel(services, job).catch((error: unknown) => {
    services.log.warn({ err: error, jobId: job.id }, "a job of a cancelled call was not cancelled");
  });
}

/** Whether `cancelSession` was called for the name within the last `withinMs`. */
export async function isSessionCancelled(
  { db }: Pick<Services, "db">,
  { ownerId, sessionId, withinMs }: SessionName & { readonly withinMs: number },
): Promise<boolean> {
  const { idempotencyKeys: keys } = schema;
  const since = sql`clock_timestamp() - ${withinMs} * interval '1 millisecond'`;
  const own = sql`${keys.ownerId} = ${ownerId} and ${keys.key} = ${cancelledKey(sessionId)}`;
  return (await db.$count(keys, sql`${own} and ${keys.createdAt} > ${since}`)) > 0;
}

const cancelledKey = (sessionId: string) => `cancelled:${sessionId}`;
const noJob = "00000000-0000-0000-0000-000000000000";

/** Cancels every open job of a user like `cancel`; returns how many. */
export async function cancelAllOf(services: Services, ownerId: string): Promise<number> {
  return stopAll(services, sql`${schema.jobs.ownerId} = ${ownerId}`);
}

/** Cancels the open jobs of a batch like `cancel`; returns how many. */
export async function cancelBatchJobs(services: Services, batchId: string): Promise<number> {
  const { jobs, batchJobs } = schema;
  return stopAll(
    services,
    sql`${jobs.id} in (select ${batchJobs.jobId} from ${batchJobs} where ${batchJobs.batchId} = ${batchId})`,
  );
}

/** `cancelAllOf` for all suspended users: a job may be accepted in the moment of the suspension. */
export async function cancelOfSuspended(services: Services): Promise<number> {
  return stopAll(services, sql`${schema.jobs.ownerId} in (${suspendedUsers})`);
}

async function stopAll(services: Services, owned: SQL): Promise<number> {
  const waiting = await transitionAll(services.db, {
    from: ["pending", "queued"],
    to: "cancelled",
    where: owned,
    event: "cancelled",
  });
  const running = await amendAll(services.db, {
    where: sql`${owned} and status in ${[...claimedStatuses]} and cancel_requested_at is null`,
    set: { cancelRequestedAt: sql`now()` },
    event: "cancel_requested",
  });
  hint(services, [...waiting, ...running]);
  for (const { id } of running) services.hints.publish({ type: "cancel", jobId: id });
  for (const queue of new Set(waiting.map((job) => job.queue))) await scheduleDispatch(services, queue);
  return waiting.length + running.length;
}

/** Call when the worker has stopped the engine. False when the lease is lost or the job has ended. */
export async function confirmCancel(services: Services, lease: Lease): Promise<boolean> {
  const job = await transition(services.db, {
    from: claimedStatuses,
    to: "cancelled",
    where: heldBy(lease),
    event: "cancelled",
  });
  if (!job) return false;
  hint(services, [job]);
  // Nobody waits for it any more: with its pictures it goes at once.
  if (job.retention === "ephemeral" && job.ackedAt !== null) await tryRemove(services, job.id);
  return true;
}

/** Leases whose job has a cancel request, and leases that are no longer current. */
export async function findStops(
  { db }: Pick<Services, "db">,
  leases: readonly Lease[],
): Promise<{ cancelled: Lease[]; lost: Lease[] }> {
  if (leases.length === 0) return { cancelled: [], lost: [] };
  const { jobs } = schema;
  const rows = await db
    .select({
      id: jobs.id,
      attempt: jobs.attempt,
      nodeId: jobs.nodeId,
      status: jobs.status,
      asked: jobs.cancelRequestedAt,
    })
    .from(jobs)
    .where(sql`${jobs.id} in ${leases.map((lease) => lease.jobId)}`);
  const byId = new Map(rows.map((row) => [row.id, row]));
  const isHeld = (lease: Lease) => {
    const row = byId.get(lease.jobId);
    return (
      row?.attempt === lease.attempt &&
      row.nodeId === lease.nodeId &&
      claimedStatuses.some((status) => status === row.status)
    );
  };
  return {
    cancelled: leases.filter((lease) => isHeld(lease) && byId.get(lease.jobId)?.asked !== null),
    lost: leases.filter((lease) => !isHeld(lease)),
  };
}
