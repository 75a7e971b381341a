import { sql, type SQL } from "drizzle-orm";
import { suspendedUsers } from "../accounts/plain.ts";
import { claimedStatuses, duration, type JobStatus, schema, waitingStatuses } from "../db/index.ts";
import type { JobKind } from "../engines.ts";
import { AppError, isId } from "../platform/index.ts";
import { spentOf } from "../providers/index.ts";
import type { Services } from "../services.ts";
import { tryRemove } from "./cleanup.ts";
import { scheduleDispatch } from "./dispatch.ts";
import { ownKeyName } from "./keys.ts";
import { amend, amendAll, heldBy, hint, isFinal, type Lease, transition, transitionAll } from "./job.ts";

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
    from: waitingStatuses,
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
  await stopAll(services, sql`${jobs.ownerId} = ${ownerId} and ${jobs.sessionId} = ${sessionId}`);
}

/** Whether `cancelSession` was called for one of the names within the last `withinMs`. */
export async function isSessionCancelled(
  { db }: Pick<Services, "db">,
  { ownerId, sessionIds, withinMs }: SessionNames,
): Promise<boolean> {
  const { idempotencyKeys: keys } = schema;
  const since = sql`clock_timestamp() - ${duration(withinMs)}`;
  const own = sql`${keys.ownerId} = ${ownerId} and ${keys.key} in ${sessionIds.map(cancelledKey)}`;
  return (await db.$count(keys, sql`${own} and ${keys.createdAt} > ${since}`)) > 0;
}

interface SessionNames {
  readonly ownerId: string;
  /** At least one. */
  readonly sessionIds: readonly string[];
  readonly withinMs: number;
}

const cancelledKey = (sessionId: string) => ownKeyName(`cancelled:${sessionId}`);
const noJob = "00000000-0000-0000-0000-000000000000";

/** Longer than programs pause before they repeat a request. */
const repeatMs = 120_000;

interface Purchase {
  readonly ownerId: string;
  readonly kind: JobKind;
  readonly sessionId: string;
  readonly prompt: string;
  /** Pictures by their roles. */
  readonly inputs: Readonly<Record<string, string>>;
}

/** A job of the same order that was cancelled just now and has cost something, or may; null without one. */
export async function findLeftPurchase(
  { db, config }: Pick<Services, "db" | "config">,
  asked: Purchase,
): Promise<string | null> {
  const { jobs, jobInputs, providerAttempts } = schema;
  const { ownerId, kind, sessionId, prompt, inputs } = asked;
  const [found] = await db
    .select({ id: jobs.id })
    .from(jobs)
    .where(
      sql`${jobs.ownerId} = ${ownerId} and ${jobs.sessionId} = ${sessionId} and ${jobs.kind} = ${kind}
        and ${jobs.cancelRequestedAt} > clock_timestamp() - ${duration(repeatMs)} and ${jobs.params}->>'prompt' = ${prompt}
        and coalesce((select jsonb_object_agg(i.role, i.image_id) from ${jobInputs} i where i.job_id = ${jobs.id}), '{}')
          = ${JSON.stringify(inputs)}::jsonb
        and exists (select from ${providerAttempts}
          where ${providerAttempts.jobId} = ${jobs.id} and ${spentOf(config)} > 0)`,
    )
    .orderBy(sql`${jobs.id} desc`)
    .limit(1);
  return found?.id ?? null;
}

/** Cancels every open job of a user like `cancel`; returns how many. */
export async function cancelAllOf(services: Services, ownerId: string): Promise<number> {
  return stopAll(services, sql`${schema.jobs.ownerId} = ${ownerId}`);
}

/** Cancels the jobs of a user that no worker has yet; what runs goes on. Returns how many. */
export async function cancelWaiting(
  services: Services,
  ownerId: string,
): Promise<{ readonly cancelled: number }> {
  return { cancelled: await stopWaiting(services, sql`${schema.jobs.ownerId} = ${ownerId}`) };
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

/** Looks until nothing is found, since a job may be claimed or given back between the two statements of a look. */
async function stopAll(services: Services, owned: SQL): Promise<number> {
  let count = 0;
  for (;;) {
    const stopped = await stopFound(services, owned);
    if (stopped === 0) return count;
    count += stopped;
  }
}

async function stopFound(services: Services, owned: SQL): Promise<number> {
  const waiting = await stopWaiting(services, owned);
  const running = await amendAll(services.db, {
    where: sql`${owned} and status in ${[...claimedStatuses]} and cancel_requested_at is null`,
    set: { cancelRequestedAt: sql`now()` },
    event: "cancel_requested",
  });
  hint(services, running);
  for (const { id } of running) services.hints.publish({ type: "cancel", jobId: id });
  return waiting + running.length;
}

async function stopWaiting(services: Services, owned: SQL): Promise<number> {
  const waiting = await transitionAll(services.db, {
    from: waitingStatuses,
    to: "cancelled",
    where: owned,
    event: "cancelled",
  });
  hint(services, waiting);
  for (const queue of new Set(waiting.map((job) => job.queue))) await scheduleDispatch(services, queue);
  return waiting.length;
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
