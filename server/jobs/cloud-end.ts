import { sql } from "drizzle-orm";
import { schema } from "../db/index.ts";
import { heldFor, isFree, isHeldBy, newToken } from "../leases/index.ts";
import { isOrphaned } from "../nodes/index.ts";
import type { ErrorCode } from "../platform/index.ts";
import {
  type Attempt,
  attemptFromRow,
  changeAttempt,
  endAttempt,
  failAttempt,
  type ProviderError,
} from "../providers/index.ts";
import type { Services } from "../services.ts";
import { chargedUsd, ownedBy } from "./cloud.ts";
import { scheduleDispatch } from "./dispatch.ts";
import { amend, hint, type Job, readJob, transition } from "./job.ts";
import { providerError } from "./provider-texts.ts";
import { insertOutputs, type StoredResult } from "./pictures.ts";
import { atRest, findHome, homeReasonOf, type OtherPlace } from "./rehome.ts";

/** An attempt that has to be asked about; the times are judged by the database's clock. */
export interface DueAttempt extends Attempt {
  readonly isOverdue: boolean;
  /** Since its call. */
  readonly ageMs: number;
}

/** How long one live process may follow an attempt before another one may. */
const finishLimitMs = 180_000;

interface Follower {
  readonly nodeId: string;
  /** The keys that the process holds; attempts of other keys are left out. */
  readonly keyIds: readonly string[];
  readonly limit: number;
}

/**
 * Takes the attempts that have to be asked about: those that are due, and those whose job has a cancel request. Each goes
 * to one process, until that postpones or ends it, or its node is lost.
 */
export async function takeDueAttempts(
  { db }: Pick<Services, "db">,
  { nodeId, keyIds, limit }: Follower,
): Promise<DueAttempt[]> {
  if (keyIds.length === 0) return [];
  const { providerAttempts, jobs } = schema;
  const rows = await db.execute<Record<string, unknown>>(sql`
    update ${providerAttempts} set finish_token = ${newToken()}, node_id = ${nodeId},
      finish_until = ${heldFor(finishLimitMs)}
    where id in (
      select a.id from ${providerAttempts} a
      where a.state in ('unknown', 'accepted') and a.key_id in ${[...keyIds]}
        and (${isFree({ until: sql`a.finish_until` })}
          or ${isOrphaned(sql`a.node_id`)})
        and (a.next_poll_at <= clock_timestamp() or exists (select 1 from ${jobs} j
          where j.provider_attempt_id = a.id and j.status = 'processing' and j.cancel_requested_at is not null))
      order by a.next_poll_at limit ${limit} for update skip locked)
    returning *, coalesce(deadline_at < clock_timestamp(), false) as is_overdue,
      (extract(epoch from clock_timestamp() - created_at) * 1000)::float8 as age_ms`);
  return rows.map((row) => ({
    ...attemptFromRow(row),
    isOverdue: row["is_overdue"] === true,
    ageMs: Number(row["age_ms"]),
  }));
}

/** Releases an attempt that goes on, to be asked about again after the pause. */
export async function postponeAttempt(
  { db }: Pick<Services, "db">,
  { id, finishToken }: Attempt,
  afterMs: number,
): Promise<void> {
  const { providerAttempts } = schema;
  await db.execute(sql`
    update ${providerAttempts} set polls = polls + 1, finish_token = null, finish_until = null, node_id = null,
      next_poll_at = ${heldFor(afterMs)}
    where id = ${id} and ${isHeldBy({ token: providerAttempts.finishToken }, finishToken)}`);
}

/** Stores the progress of a run at the provider, when it is news. */
export async function noteProviderProgress(
  services: Services,
  attempt: Attempt,
  { progress, stage }: { readonly progress: number; readonly stage: string },
): Promise<void> {
  const job = await amend(services.db, {
    where: sql`${ownedBy(attempt)} and (stage is distinct from ${stage} or progress < ${progress})`,
    set: { progress, stage },
    event: "progress",
    data: { progress, stage },
  });
  if (job) hint(services, [job]);
}

export interface ProviderResult {
  readonly attempt: Attempt;
  readonly outputs: readonly StoredResult[];
  readonly costUsd: number | null;
  /** Sizes as texts, where a picture has another shape than the job asked for. */
  readonly shape: { readonly asked: string; readonly made: string } | null;
}

/**
 * Completes the job of an attempt and ends the attempt, in one transaction. Null when the job no longer waits for it: the
 * cost is stored all the same, and the caller deletes the files.
 */
export async function completeFromProvider(
  services: Services,
  { attempt, outputs, costUsd, shape }: ProviderResult,
): Promise<Job | null> {
  const job = await services.db.transaction(async (tx) => {
    const completed = await transition(tx, {
      from: ["processing"],
      to: "completed",
      where: ownedBy(attempt),
      set: { nodeId: null, server: attempt.provider, progress: 1, stage: null },
      event: "completed",
      data: {
        imageIds: outputs.map((output) => output.id),
        provider: attempt.provider,
        ...(shape === null ? {} : { shape }),
      },
      also: insertOutputs(outputs),
    });
    await endAttempt(tx, attempt.id, { state: "succeeded", costUsd });
    return completed;
  });
  if (job) hint(services, [job]);
  return job;
}

export interface ProviderFailure {
  readonly attempt: Attempt;
  readonly error: ProviderError;
  readonly costUsd: number | null;
}

/**
 * A run failed after the provider had accepted it: the provider is marked, and the job fails, or goes back to the line for
 * the next provider where the configuration says so. A refusal of the content ends the job in any case.
 */
export async function failFromProvider(
  services: Services,
  { attempt, error, costUsd }: ProviderFailure,
): Promise<Job | null> {
  const { onLateFailure, onLostReply } = services.config.cloud;
  const wish = error.class === "lost" ? onLostReply : onLateFailure;
  const goesOn = wish === "next" && error.class !== "moderation";
  return end(services, { attempt, error, costUsd, goesOn });
}

/** The provider never took the request: nothing was paid, and the job goes back to the line, unless its content is refused. */
export async function walkOn(
  services: Services,
  attempt: Attempt,
  error: ProviderError,
): Promise<Job | null> {
  return end(services, { attempt, error, costUsd: 0, goesOn: error.class !== "moderation" });
}

async function end(
  services: Services,
  { attempt, error, costUsd, goesOn }: ProviderFailure & { readonly goesOn: boolean },
): Promise<Job | null> {
  const { words } = error;
  const failure = providerError({ provider: attempt.provider, reason: error.class, words });
  const data = { provider: attempt.provider, class: error.class, code: failure.code };
  const home = goesOn ? null : await homeOf(services, attempt, failure.code);
  const job = await services.db.transaction(async (tx) => {
    await failAttempt(tx, attempt.id, {
      error,
      costUsd: costUsd ?? chargedUsd(services, { attempt, error }),
    });
    if (home) {
      return transition(tx, {
        from: ["processing"],
        to: "pending",
        where: ownedBy(attempt),
        set: { ...home.set, ...atRest },
        event: "went_home",
        data: { ...data, ...home.data },
      });
    }
    if (goesOn) {
      return transition(tx, {
        from: ["processing"],
        to: "pending",
        where: ownedBy(attempt),
        set: { providerAttemptId: null, nodeId: null, progress: 0, stage: null },
        event: "provider_failed",
        data,
      });
    }
    return transition(tx, {
      from: ["processing"],
      to: "failed",
      where: ownedBy(attempt),
      set: {
        nodeId: null,
        charged: sql`charged + 1`,
        errorCode: failure.code,
        errorMessage: failure.message,
        errorDetails: failure.details,
      },
      event: "failed",
      data,
    });
  });
  if (!job) return null;
  hint(services, [job]);
  if (job.status === "pending") await scheduleDispatch(services, job.queue);
  return job;
}

/** The own machines that take the job of an attempt over; null where none can, or its first failure ends it. */
async function homeOf(services: Services, { jobId }: Attempt, code: ErrorCode): Promise<OtherPlace | null> {
  const because = homeReasonOf(code);
  const job = because === null || jobId === null ? null : await readJob(services, jobId);
  return because === null || !job || job.once ? null : findHome(services, job, because);
}

/** Cancels the job of an attempt, whose run is followed to its end, for its cost alone. */
export async function cancelFromProvider(services: Services, attempt: Attempt): Promise<Job | null> {
  const job = await transition(services.db, {
    from: ["processing"],
    to: "cancelled",
    where: sql`${ownedBy(attempt)} and cancel_requested_at is not null`,
    set: { nodeId: null },
    event: "cancelled",
  });
  if (job) hint(services, [job]);
  return job;
}

/**
 * Takes over the calls whose process died, or that take longer than any call can: nobody knows whether the provider
 * accepted. Runs in each sweep.
 */
export async function takeOverLostCalls(services: Services): Promise<number> {
  const { providerAttempts } = schema;
  const { db, config } = services;
  const rows = await db.execute<Record<string, unknown>>(sql`
    select * from ${providerAttempts} where state = 'submitting' and (next_poll_at <= clock_timestamp()
      or ${isOrphaned(providerAttempts.nodeId)})`);
  for (const attempt of rows.map(attemptFromRow)) {
    const job = await db.transaction(async (tx) => {
      const taken = await changeAttempt(tx, {
        id: attempt.id,
        from: ["submitting"],
        set: {
          state: "unknown",
          nodeId: null,
          nextPollAt: sql`clock_timestamp()`,
          deadlineAt: sql`clock_timestamp() + ${config.cloud.reconcileS} * interval '1 second'`,
        },
      });
      if (!taken) return null;
      return amend(tx, {
        where: ownedBy(attempt),
        set: { nodeId: null, stage: "reconciling", server: attempt.provider },
        event: "provider_lost",
        data: { provider: attempt.provider },
      });
    });
    if (job) hint(services, [job]);
  }
  return rows.length;
}
