import { inArray, sql } from "drizzle-orm";
import { claimedStatuses, isDatabaseAway, schema, waitingStatuses } from "../db/index.ts";
import { localEngine, type Need } from "../engines.ts";
import { hasEnded, isActive, isOrphaned } from "../nodes/index.ts";
import { isId } from "../platform/index.ts";
import {
  isGpuQueue,
  lateStartMs,
  onDemandQueues,
  type Place,
  readPlaces,
  readWaits,
  servingServers,
  unservedSince,
} from "../scheduling/index.ts";
import type { Services } from "../services.ts";
import { cancelOfSuspended } from "./cancel.ts";
import { cancelUnheldJobs } from "./cloud.ts";
import { endUnheldRuns, takeOverLostCalls } from "./cloud-end.ts";
import { dispatch, lockLine, rering } from "./dispatch.ts";
import { amendAll, hint, isFinal, type Job, maxChargedOf, transitionAll } from "./job.ts";
import { placeWaiting } from "./rehome.ts";

const repairs: readonly ((services: Services) => Promise<unknown>)[] = [
  cancelOfSuspended,
  takeOverLostCalls,
  cancelUnheldJobs,
  endUnheldRuns,
  recover,
  moveStranded,
  clearAvoidedServers,
  failUnservable,
  placeWaiting,
  dispatchLines,
  (services) => rering(services),
];

/**
 * Repairs what a crash or a lost message left behind. Any process may run it at any time, also several at once. A repair
 * that fails holds up none of the others, unless the database is away; the first error is thrown at the end.
 */
export async function sweep(services: Services): Promise<void> {
  const errors: unknown[] = [];
  for (const repair of repairs) {
    try {
      await repair(services);
    } catch (error) {
      if (isDatabaseAway(error)) throw error;
      errors.push(error);
    }
  }
  if (errors.length > 0) throw errors[0];
}

async function dispatchLines(services: Services): Promise<void> {
  for (const queue of await queuesInLine(services)) await dispatch(services, queue);
}

/**
 * Takes back claimed rows whose node is neither active nor draining. A query, not an event: it works whichever process
 * detected the loss. The attempt is charged and the job next runs alone; after the last charged attempt, or with
 * `once`, the job fails.
 */
export async function recover(services: Services): Promise<Job[]> {
  const { jobs, nodes } = schema;
  const maxCharged = maxChargedOf(services.config);
  // A job that a provider has, or may have, belongs to its attempt.
  const orphaned = sql`${jobs.providerAttemptId} is null and ${isOrphaned(jobs.nodeId)}`;
  const failed = await transitionAll(services.db, {
    from: claimedStatuses,
    to: "failed",
    where: sql`${orphaned} and (once or charged + 1 >= ${maxCharged}) and cancel_requested_at is null`,
    set: {
      charged: sql`charged + 1`,
      errorCode: "worker_lost",
      errorMessage: sql`'The worker ' || coalesce((select n.name from ${nodes} n where n.id = ${jobs.nodeId}), 'that ran it') || ' died while it worked on the job' || case when once or charged = 0 then '.' else ', as others did before.' end`,
    },
    event: "failed",
    data: { code: "worker_lost" },
  });
  const requeued = await transitionAll(services.db, {
    from: claimedStatuses,
    to: "pending",
    // The limit is checked again: a node may have been declared lost since the statement above.
    where: sql`${orphaned} and ((not once and charged + 1 < ${maxCharged}) or cancel_requested_at is not null)`,
    set: { charged: sql`charged + 1`, runAlone: true, nodeId: null, progress: 0, stage: null },
    event: "worker_lost",
  });
  const all = [...failed, ...requeued];
  for (const job of all)
    services.log.warn(
      { jobId: job.id, status: job.status, charged: job.charged },
      "job taken back from a lost worker",
    );
  hint(services, all);
  return requeued;
}

/**
 * In a database that was restored from a backup, takes back the jobs that ran when it was made: their workers belong to
 * the other installation. They wait again, uncharged; those with `once` fail, since their run may have ended there.
 */
export async function requeueRestored(services: Services): Promise<{ requeued: number; failed: number }> {
  const failed = await transitionAll(services.db, {
    from: claimedStatuses,
    to: "failed",
    where: sql`once and cancel_requested_at is null and provider_attempt_id is null`,
    set: {
      errorCode: "worker_lost",
      errorMessage: "The studio was restored from a backup that was made during the run.",
    },
    event: "failed",
    data: { code: "worker_lost" },
  });
  const requeued = await transitionAll(services.db, {
    from: claimedStatuses,
    to: "pending",
    where: sql`provider_attempt_id is null`,
    set: { nodeId: null, progress: 0, stage: null },
    event: "restored",
  });
  return { requeued: requeued.length, failed: failed.length };
}

/**
 * Moves waiting jobs when no live node serves their need in their queue, but one does in another queue of the same
 * hardware class. Never from cards to the CPU: the server may be away for a moment only. Queued rows return to the line
 * first, so that only the fair pick releases them. Jobs of a queue that is started on demand stay while its start may take.
 */
export async function moveStranded(services: Services): Promise<void> {
  const since = unservedSince(sql`waiting.queue`, sql`waiting.oldest`, sql`waiting.need`);
  const isLate = (queue: string, waitedMs: number) => {
    const lateMs = lateStartMs(services.config, queue);
    return lateMs === 0 || waitedMs >= lateMs;
  };
  const stranded = await services.db.execute<{ queue: string; need: Need; waitedMs: number }>(sql`
    select queue, need, (extract(epoch from now() - ${since}) * 1000)::float8 as "waitedMs" from (
      select queue, need, min(created_at) as oldest
      from ${schema.jobs} where status in ('pending', 'queued') group by queue, need) waiting
    where serving_slots(queue, need) = 0`);
  for (const { queue, need, waitedMs } of stranded)
    if (isLate(queue, waitedMs)) await move(services, { from: queue, need });
}

async function move(services: Services, { from, need }: { from: string; need: Need }): Promise<void> {
  const { db, config } = services;
  const isGpu = isGpuQueue(config, from);
  const places = (await readPlaces(db, config, [need])).filter(
    (place) => place.slots > 0 && isGpuQueue(config, place.queue) === isGpu,
  );
  // Below every tier: behind all that waits there.
  const last = { ownerId: "", tier: -1, ownerOrder: null, isQueued: false, sizeClass: 0 };
  const waits = await readWaits(
    db,
    places.map(({ queue }) => ({ ...last, queue, need })),
  );
  const meanMs = (place: Place) => waits[places.indexOf(place)]?.meanMs ?? 0;
  const to = places.toSorted((a, b) => meanMs(a) - meanMs(b))[0]?.queue;
  if (to === undefined) return;
  const { jobs } = schema;
  const here = sql`queue = ${from} and need = ${need}`;
  const moved = await db.transaction(async (tx) => {
    await lockLine(tx, from);
    // Locks the rows of both statements below at once, in the order of ids as everywhere, to avoid deadlocks.
    await tx.execute(
      sql`select id from ${jobs} where ${here} and status in ('pending', 'queued') order by id for update`,
    );
    await transitionAll(tx, {
      from: ["queued"],
      to: "pending",
      where: here,
      event: "requeued",
      data: { from },
    });
    return amendAll(tx, {
      where: sql`${here} and status = 'pending'`,
      set: { queue: to, placement: sql`jsonb_set(placement, '{chosen,queue}', to_jsonb(${to}::text))` },
      event: "moved",
      data: { from, to },
    });
  });
  hint(services, moved);
  services.log.info(
    { from, to, need, count: moved.length },
    "waiting jobs moved to a queue with a live node",
  );
}

/**
 * Clears `avoid` of waiting jobs when every server that could serve them is avoided, e.g. because the other server has
 * gone. The number of attempts limits how often this repeats.
 */
export async function clearAvoidedServers(services: Services): Promise<void> {
  const { jobs } = schema;
  const serving = sql`select 1 from ${servingServers(services.config, sql`jobs.need`)} and q.queue = jobs.queue`;
  const cleared = await amendAll(services.db, {
    where: sql`${jobs.status} in ('pending', 'queued') and ${jobs.avoid} <> '{}'
      and exists (${serving}) and not exists (${serving} and s.url <> all(jobs.avoid))`,
    set: { avoid: [] },
    event: "servers_forgiven",
  });
  hint(services, cleared);
}

const message = "No server that was seen in the last 24 hours can do this any more.";

/** Since its submit, workers with a server were in its queue for so long, or so many came for it and ended. */
const triedMinutes = 10;
const triedStarts = 3;

/**
 * Fails waiting jobs that no node of the last 24 hours could serve: `submit` would refuse them now. Only after a node
 * has been active for an hour, since after a stop of the whole system the servers must be found first. One statement,
 * so that jobs submitted meanwhile are compared with the same nodes. A queue that is started on demand may sleep for
 * longer; there a job fails once workers came for it that cannot run it, or machines would be started for it without end.
 */
async function failUnservable(services: Services): Promise<void> {
  const { jobs, nodes, nodeQueues } = schema;
  const startable = onDemandQueues(services.config);
  const wasTried = sql`(
    select count(*) filter (where ${hasEnded()} and n.started_at > ${jobs.createdAt}) >= ${triedStarts}
      or coalesce(sum(extract(epoch from n.seen_at - greatest(n.started_at, ${jobs.createdAt}))), 0) >= ${triedMinutes * 60}
    from ${nodeQueues} q join ${nodes} n on n.id = q.node_id
    where q.queue = ${jobs.queue} and q.seen_needs <> '{}' and n.seen_at > ${jobs.createdAt})`;
  const failed = await transitionAll(services.db, {
    from: waitingStatuses,
    to: "failed",
    where: sql`not (${jobs.engine} = ${localEngine.name} and ${inArray(jobs.kind, [...localEngine.kinds])})
      and case when ${startable.length > 0 ? sql`${jobs.queue} in ${startable}` : sql`false`} then ${wasTried}
        else exists (select 1 from ${nodes} n where ${isActive()} and n.started_at < now() - interval '1 hour') end
      and not exists (
        select 1 from ${nodeQueues} q join ${nodes} n on n.id = q.node_id
        where (${jobs.need} = any(q.seen_needs) or ${jobs.need} = any(q.needs))
          and (${isActive()} or n.seen_at > now() - interval '24 hours'))`,
    set: { errorCode: "no_engine", errorMessage: message },
    event: "failed",
    data: { code: "no_engine", message },
  });
  if (failed.length === 0) return;
  hint(services, failed);
  services.log.warn({ jobIds: failed.map(({ id }) => id) }, "jobs failed that nothing can run any more");
}

async function queuesInLine({ db }: Services): Promise<string[]> {
  const { jobs } = schema;
  const rows = await db
    .selectDistinct({ queue: jobs.queue })
    .from(jobs)
    .where(sql`${jobs.status} = 'pending'`);
  return rows.map((row) => row.queue);
}

/** Needs of waiting jobs that no active node offers at the moment. */
export async function readAwaitedNeeds({ db }: Pick<Services, "db">): Promise<Set<Need>> {
  const { jobs, nodes, nodeQueues } = schema;
  const result = await db.execute<{ need: Need }>(sql`
    select w.need from (select distinct need from ${jobs} where status in ('pending', 'queued')) w
    where not exists (select 1 from ${nodeQueues} q join ${nodes} n on n.id = q.node_id
      where ${isActive()} and w.need = any(q.needs))`);
  return new Set(result.map(({ need }) => need));
}

/** Whether any job waits or is claimed; decides how often a worker sweeps and watches. */
export async function readActivity({
  db,
}: Pick<Services, "db">): Promise<{ open: boolean; claimed: boolean }> {
  const result = await db.execute<{ open: boolean; claimed: boolean }>(sql`
    select exists (select 1 from ${schema.jobs} where status in ('pending', 'queued')) as open,
      exists (select 1 from ${schema.jobs} where status in ('waiting_for_engine', 'processing')) as claimed`);
  return result[0] ?? { open: false, claimed: false };
}

/** A prompt that was found on a server. */
export interface PostedPrompt {
  readonly jobId: string;
  readonly promptId: string;
}

/**
 * Prompts to cancel: their job ended or was posted again. The prompt id is stored before the post, so a prompt that is
 * seen on a server is already recorded. Prompts of unknown jobs are not returned.
 */
export async function findOrphanedPrompts<P extends PostedPrompt>(
  { db }: Pick<Services, "db">,
  prompts: readonly P[],
): Promise<P[]> {
  const ids = prompts.map(({ jobId }) => jobId).filter(isId);
  if (ids.length === 0) return [];
  const { jobs } = schema;
  const rows = await db
    .select({ id: jobs.id, status: jobs.status, externalId: jobs.externalId })
    .from(jobs)
    .where(inArray(jobs.id, ids));
  const byId = new Map(rows.map((row) => [row.id, row]));
  return prompts.filter(({ jobId, promptId }) => {
    const row = byId.get(jobId);
    return row !== undefined && (isFinal(row.status) || row.externalId !== promptId);
  });
}
