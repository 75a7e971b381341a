import { and, eq, sql, type SQL } from "drizzle-orm";
import { claimedStatuses, duration, type JobStatus, schema } from "../db/index.ts";
import { isActive } from "../nodes/index.ts";
import { type Config, errorRules } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { scheduleDispatch } from "./dispatch.ts";
import { amend, heldBy, hint, type Job, type Lease, transition, transitionAll } from "./job.ts";
import { headOf, inClaimOrder, isOffered, needsNoServer, type Offer, type QueueOffers } from "./offers.ts";
import { insertOutputs, type StoredResult } from "./pictures.ts";

export interface Claimant {
  readonly nodeId: string;
  readonly queue: string;
  readonly offers: readonly Offer[];
  /**
   * The node's other queues and its offers there: needed because the next job of another queue may require an empty
   * node.
   */
  readonly otherQueues?: readonly QueueOffers[];
}

/**
 * Claims the first `queued` row of a queue that this node can run; null when there is none or the node is not active.
 * `offers.ts` has the order. The row is locked while it is picked, so exactly one of several claimants gets it; the node row is locked FOR SHARE,
 * so the node cannot be declared lost meanwhile. A job of the local engine is `processing` from here on, since the slot
 * is its engine; any other waits for its server until `start`. A job whose worker died runs alone: when it is next in any queue of
 * the node, the node claims nothing else until it is empty. The caller must run one claim of a node at a time.
 */
export async function claim(services: Services, claimant: Claimant): Promise<Job | null> {
  const { nodeId, queue, offers, otherQueues = [] } = claimant;
  if (offers.length === 0) return null;
  const { jobs, nodes } = schema;
  const { timing } = services.config;
  const job = await transition(services.db, {
    from: ["queued"],
    to: "waiting_for_engine",
    andThen: { when: needsNoServer(offers), to: "processing", event: "started" },
    where: sql`${jobs.id} = (
      select next.id from (
        select j.id, j.run_alone, j.charged, j.queued_at from ${jobs} j
        where j.queue = ${queue} and j.status = 'queued' and ${isOffered(offers)}
          and exists (select 1 from (select n.id from ${nodes} n where n.id = ${nodeId} and ${isActive()} for share) active)
          and not exists (${runningOn(nodeId)} and r.run_alone)
        order by ${inClaimOrder(offers, timing)} limit 1 for update of j skip locked
      ) next where not ${mustWait(sql`next`, nodeId, timing)} and (next.run_alone or ${isNotHeld(nodeId, otherQueues, timing)}))`,
    set: {
      attempt: sql`attempt + 1`,
      nodeId,
      // The server of an earlier attempt belongs to this one only if its prompt may still be there.
      server: sql`case when external_id is not null then server end`,
      claimedAt: sql`clock_timestamp()`,
      startedAt: sql`case when ${needsNoServer(offers)} then clock_timestamp() end`,
      progress: 0,
      stage: null,
    },
    event: "claimed",
    data: { nodeId },
  });
  if (!job) return null;
  hint(services, [job]);
  // Not awaited: the run can begin before the next rows are dispatched.
  services.later(scheduleDispatch(services, queue));
  return job;
}

/** With this many charged attempts a job never runs beside others. */
const runAloneCharges = 2;

/** SQL query for the jobs `r` that run on a node. */
function runningOn(nodeId: string): SQL {
  return sql`select 1 from ${schema.jobs} r where r.node_id = ${nodeId} and r.status in ('waiting_for_engine', 'processing')`;
}

/**
 * SQL condition: row `head` has to wait until the node is empty. One lost worker does not prove that the job caused
 * the loss: after `aloneWaitMs` without a claim it runs beside others, so that one long run does not block the node.
 */
function mustWait(head: SQL, nodeId: string, { aloneWaitMs }: Config["timing"]): SQL {
  const since = sql`clock_timestamp() - ${duration(aloneWaitMs)}`;
  return sql`(${head}.run_alone and exists (${runningOn(nodeId)}) and (${head}.charged >= ${runAloneCharges}
    or ${head}.queued_at > ${since} or exists (${runningOn(nodeId)} and r.claimed_at > ${since})))`;
}

/** SQL condition: false while the next job of another queue of the node must run alone. */
function isNotHeld(nodeId: string, queues: readonly QueueOffers[], timing: Config["timing"]): SQL {
  const offering = queues.filter(({ offers }) => offers.length > 0);
  const holds = offering.map(
    (queue) => sql`exists (select 1 from (${headOf(queue, timing)}) other
      where other.run_alone and (not exists (${runningOn(nodeId)}) or ${mustWait(sql`other`, nodeId, timing)}))`,
  );
  return holds.length > 0 ? sql`not (${sql.join(holds, sql` or `)})` : sql`true`;
}

/**
 * Stores the server and the prompt id before the post, so that a later attempt adopts the run. False when the lease is
 * lost.
 */
export async function noteSubmission(
  services: Services,
  lease: Lease,
  submission: { server: string; externalId: string | null },
): Promise<boolean> {
  const job = await amend(services.db, {
    where: sql`${heldBy(lease)} and status in ${[...claimedStatuses]}`,
    set: submission,
    event: "posted",
    data: { server: submission.server },
  });
  if (job) hint(services, [job]);
  return job !== null;
}

/**
 * Marks that the engine begins: `waiting_for_engine` to `processing`. A job that began with its claim is returned as it
 * is. Null when the lease is lost.
 */
export async function start(services: Services, lease: Lease): Promise<Job | null> {
  const job = await transition(services.db, {
    from: ["waiting_for_engine"],
    to: "processing",
    where: heldBy(lease),
    set: { startedAt: sql`clock_timestamp()` },
    event: "started",
  });
  if (!job) return findHeld(services, lease, "processing");
  hint(services, [job]);
  return job;
}

export interface Progress {
  /** 0..1 */
  readonly progress: number;
  readonly stage: string;
}

/** Writes progress to the row; call it only every few seconds. False when the lease is lost. */
export async function persistProgress(
  services: Services,
  lease: Lease,
  { progress, stage }: Progress,
): Promise<boolean> {
  const job = await amend(services.db, {
    where: sql`${heldBy(lease)} and status = 'processing'`,
    set: { progress, stage },
    event: "progress",
    data: { progress, stage },
  });
  if (job) hint(services, [job]);
  return job !== null;
}

export interface Completion {
  readonly lease: Lease;
  readonly outputs: readonly StoredResult[];
  readonly facts: Readonly<Record<string, unknown>>;
}

/**
 * Completes a job: status, image rows and links in one statement, guarded by the lease. Null when the lease is no
 * longer current; then nothing is written and the caller deletes the files. Idempotent: when the answer of the first
 * call was lost, a second call returns what it committed.
 */
export async function complete(
  services: Services,
  { lease, outputs, facts }: Completion,
): Promise<Job | null> {
  const job = await transition(services.db, {
    from: ["processing"],
    to: "completed",
    where: heldBy(lease),
    set: { progress: 1, stage: null, facts: { ...facts } },
    event: "completed",
    data: { imageIds: outputs.map((output) => output.id) },
    ...(outputs.length > 0 ? { also: insertOutputs(outputs) } : {}),
  });
  if (!job) return findHeld(services, lease, "completed");
  // No dispatch: the window counts all slots, not free ones, so a claim makes room in it and an end does not.
  hint(services, [job]);
  return job;
}

/** The job when the lease is the current one and the job has the status, else null. */
async function findHeld({ db }: Services, lease: Lease, status: JobStatus): Promise<Job | null> {
  const { jobs } = schema;
  const [job] = await db
    .select()
    .from(jobs)
    .where(and(heldBy(lease), eq(jobs.status, status)));
  return job ?? null;
}

/** Returns the job of a stopping worker to the line; the attempt is not charged. */
export async function handBack(services: Services, lease: Lease): Promise<Job | null> {
  const job = await transition(services.db, {
    from: claimedStatuses,
    to: "pending",
    where: heldBy(lease),
    // `externalId` stays: the prompt continues on its server, and the next attempt adopts it.
    set: { nodeId: null, progress: 0, stage: null },
    event: "handed_back",
  });
  if (!job) return null;
  hint(services, [job]);
  await scheduleDispatch(services, job.queue);
  return job;
}

/**
 * Hands back rows that a living node holds but does not run: the answer to its claim was lost, or the database was
 * away when the run ended. After `maxAttempts` the job fails, since a job whose end can never be stored would run
 * again for ever. Call it while the node claims nothing.
 */
export async function handBackUnknown(
  services: Services,
  input: { nodeId: string; running: readonly string[] },
): Promise<number> {
  const { nodeId, running } = input;
  const { maxAttempts } = services.config.limits;
  const others = running.length > 0 ? sql`and id not in ${[...running]}` : sql``;
  // A call to a provider that this node has forgotten is taken over when it can no longer be answered.
  const unknown = sql`node_id = ${nodeId} and provider_attempt_id is null ${others}`;
  const spent = sql`attempt >= ${maxAttempts} and cancel_requested_at is null`;
  const failed = await transitionAll(services.db, {
    from: claimedStatuses,
    to: "failed",
    where: sql`${unknown} and ${spent}`,
    set: { errorCode: "internal", errorMessage: errorRules.internal.message },
    event: "failed",
    data: { code: "internal" },
  });
  const handedBack = await transitionAll(services.db, {
    from: claimedStatuses,
    to: "pending",
    where: sql`${unknown} and not (${spent})`,
    set: { nodeId: null, progress: 0, stage: null },
    event: "handed_back",
  });
  const jobs = [...failed, ...handedBack];
  hint(services, jobs);
  return jobs.length;
}
