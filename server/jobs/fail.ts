import { and, eq, sql, type SQL } from "drizzle-orm";
import { claimedStatuses, duration, type Placement, schema } from "../db/index.ts";
import { type AppError, type Config, ruleOf } from "../platform/index.ts";
import {
  type Downgrade,
  findDowngrade,
  isGpuQueue,
  type LiveServer,
  liveServers,
} from "../scheduling/index.ts";
import type { Services } from "../services.ts";
import { scheduleDispatch } from "./dispatch.ts";
import { goHome, homeReasonOf } from "./cloud-home.ts";
import { heldBy, hint, type Job, type Lease, maxChargedOf, readJob, transition } from "./job.ts";

/**
 * Ends a failed attempt. With the strategy `fail` the job ends at once; otherwise it returns to the line until it has
 * used its charged attempts (its own `maxRetries`, if fewer) or `maxAttempts`; a job whose models are away waits on. A job with
 * `once` ends with its first failure. Null when the lease is no longer current.
 */
export async function fail(services: Services, lease: Lease, error: AppError): Promise<Job | null> {
  const home = await atHomeAfter(services, lease, error);
  if (home) return home;
  const nextAttempt = await chooseNextAttempt(services, lease, error);
  const again = nextAttempt && (await requeue(services, lease, { error, nextAttempt }));
  const moved = again ?? (await end(services, lease, error));
  return moved && finish(services, moved);
}

/** What a provider could not do goes back to the own machines that can; null when none can, or nothing of the kind happened. */
async function atHomeAfter(services: Services, lease: Lease, error: AppError): Promise<Job | null> {
  const because = homeReasonOf(error.code);
  if (because === null) return null;
  const job = await readJob(services, lease.jobId);
  if (!job || (job.once && wasTried(error))) return null;
  return goHome(services, { job, lease }, because);
}

/** How the job continues; null when it ends. */
async function chooseNextAttempt(
  services: Services,
  lease: Lease,
  error: AppError,
): Promise<NextAttempt | null> {
  const { strategy } = ruleOf(error.code);
  if (strategy === "fail") return null;
  const job = await readJob(services, lease.jobId);
  if (!job || (job.once && wasTried(error))) return null;
  return reroute(services, job, error);
}

/** When no server was free, nothing was tried and the job keeps waiting. */
function wasTried({ code }: AppError): boolean {
  return code !== "server_busy" && code !== "budget_exceeded" && code !== "not_agreed";
}

/** For how long after its submit a job waits for what is away. */
const awayHours = 24;

/** The servers that could run the job lack now what they had when it was accepted: nothing was tried. */
function isAway({ code, details }: AppError): boolean {
  return code === "server_busy" && Array.isArray(details?.["away"]);
}

async function finish(services: Services, job: Job): Promise<Job> {
  hint(services, [job]);
  await scheduleDispatch(services, job.queue);
  return job;
}

async function requeue(
  services: Services,
  lease: Lease,
  { error, nextAttempt }: { error: AppError; nextAttempt: NextAttempt },
): Promise<Job | null> {
  const { maxAttempts } = services.config.limits;
  const isCharged = await countsAgainst(services, lease, error);
  const charge = isCharged ? 1 : 0;
  // What is away may come back, as a worker that is awaited may: the day that such a worker gets ends that wait, no count of attempts.
  const isYoung = sql`created_at > now() - make_interval(hours => ${awayHours})`;
  const isLeft = sql`attempt < ${maxAttempts}`;
  const hasAttempts = isAway(error) ? sql`(${isLeft} or ${isYoung})` : isLeft;
  return transition(services.db, {
    from: claimedStatuses,
    to: "pending",
    where: sql`${heldBy(lease)} and charged + ${charge} < ${maxChargedOf(services.config)} and ${hasAttempts}`,
    set: {
      charged: sql`charged + ${charge}`,
      nodeId: null,
      progress: 0,
      stage: null,
      notBefore: nextAttempt.waits ? nextAttemptAt(services.config, isAway(error) ? awayDelays : 1) : null,
      ...nextAttempt.set,
    },
    event: "requeued",
    data: { code: error.code, charged: isCharged, ...factsOf(error), ...nextAttempt.data },
  });
}

/**
 * Whether the try is charged. A job has as many excused ones as charged retries, each of which may pay a service before it
 * fails: the next ones count.
 */
async function countsAgainst(services: Services, { jobId }: Lease, error: AppError): Promise<boolean> {
  if (ruleOf(error.code).charged) return true;
  if (!factsOf(error).excused) return false;
  const { jobEvents } = schema;
  const excused = and(eq(jobEvents.jobId, jobId), sql`${jobEvents.data}->>'excused' = 'true'`);
  const tries = await services.db.$count(jobEvents, excused);
  const mayHave = and(eq(schema.jobs.id, jobId), sql`${tries}::int + 1 < ${maxChargedOf(services.config)}`);
  return (await services.db.$count(schema.jobs, mayHave)) === 0;
}

/** The exception of the server, for the story that admins read, and whether the server was known to fail every run. */
function factsOf({ details }: AppError): { readonly exception?: string; readonly excused?: true } {
  const { exception, excused } = details ?? {};
  return {
    ...(typeof exception === "string" ? { exception } : {}),
    ...(excused === true ? { excused } : {}),
  };
}

/** What is away is looked for less often: each look is an event of the job. */
const awayDelays = 5;

/** The delay doubles with each attempt up to `longest` times the longest one; the exponent is bounded to avoid an overflow. */
function nextAttemptAt({ timing }: Config, longest: number): SQL {
  const { retryDelayMs } = timing;
  const maxRetryDelayMs = timing.maxRetryDelayMs * longest;
  const waitMs = sql`least(${maxRetryDelayMs}::float8, ${retryDelayMs}::float8 * power(2, least(attempt, 30) - 1))`;
  return sql`now() + ${duration(waitMs)}`;
}

async function end(services: Services, lease: Lease, error: AppError): Promise<Job | null> {
  return transition(services.db, {
    from: claimedStatuses,
    to: "failed",
    where: heldBy(lease),
    set: {
      charged: sql`charged + ${(await countsAgainst(services, lease, error)) ? 1 : 0}`,
      errorCode: error.code,
      errorMessage: error.message,
      errorDetails: { ...error.details },
    },
    event: "failed",
    data: { code: error.code, message: error.message, ...factsOf(error) },
  });
}

/** How the job continues after a failed attempt. */
interface NextAttempt {
  /** The next attempt waits, because the cause may be temporary. */
  readonly waits: boolean;
  readonly set: Partial<
    Pick<Job, "avoid" | "queue" | "engine" | "workflow" | "need" | "placement" | "externalId">
  >;
  readonly data: Readonly<Record<string, unknown>>;
}

/**
 * Whether the result may still be on the server, so that the prompt id is kept: only reading or storing it failed. It was the
 * server that had no memory where the error names it.
 */
function keepsSubmission({ code, details }: AppError): boolean {
  if (code === "out_of_memory") return details?.["server"] === undefined;
  return code === "storage_unavailable" || code === "database_unavailable";
}

/**
 * Chooses the next attempt by the strategy of the error code: the same place after a delay, another server, or after
 * "out of memory" a larger card, then a CPU queue as a declared downgrade, then once more with freed memory. Null when
 * nothing else can be tried.
 */
async function reroute(services: Services, job: Job, error: AppError): Promise<NextAttempt | null> {
  const again: NextAttempt = {
    waits: true,
    set: keepsSubmission(error) ? {} : { externalId: null },
    data: {},
  };
  switch (ruleOf(error.code).strategy) {
    case "fail":
      return null;
    case "retry":
      return again;
    case "other_server":
    case "only_other_server":
      return onOtherServer(services, { job, error, again });
    case "cpu_queue":
      return withMoreMemory(services, { job, error, again });
  }
}

interface Rerouting {
  readonly job: Job;
  readonly error: AppError;
  readonly again: NextAttempt;
}

/** Address of the failed server: from the details of the error, else the server of the last post. */
function failedServer({ job, error }: Rerouting): string | null {
  const named = error.details?.["server"];
  if (typeof named === "string") return named;
  // No server was free: the server of an earlier attempt is not involved.
  return error.code === "server_busy" ? null : job.server;
}

async function onOtherServer(services: Services, input: Rerouting): Promise<NextAttempt | null> {
  const { job, error, again } = input;
  const server = failedServer(input);
  if (server === null) return again;
  const avoid = [...new Set([...job.avoid, server])];
  const queue = findQueue(await serversOfClass(services, job), { job, avoid });
  if (queue !== null) {
    return { waits: false, set: { ...again.set, avoid, queue }, data: { server, next: "other_server" } };
  }
  // A wait does not help when the only server lacks a model or node; an unreachable server may come back.
  if (ruleOf(error.code).strategy === "only_other_server") return null;
  return { ...again, set: { ...again.set, avoid: [] }, data: { server } };
}

/** Live servers of the same hardware class; a move from cards to the CPU is a downgrade and must be declared. */
async function serversOfClass({ db, config }: Services, job: Job): Promise<LiveServer[]> {
  const isGpu = isGpuQueue(config, job.queue);
  return (await liveServers(db, config, job.need)).filter(({ queue }) => isGpuQueue(config, queue) === isGpu);
}

/** A queue with a server that the job does not avoid; its own queue if possible. */
function findQueue(
  servers: readonly LiveServer[],
  { job, avoid }: { job: Job; avoid: readonly string[] },
): string | null {
  const left = servers.filter(({ url }) => !avoid.includes(url));
  return (left.find(({ queue }) => queue === job.queue) ?? left[0])?.queue ?? null;
}

async function withMoreMemory(services: Services, input: Rerouting): Promise<NextAttempt | null> {
  const { job, again } = input;
  const server = failedServer(input);
  const servers = await serversOfClass(services, job);
  const small = servers.filter(isNotLarger(servers.find(({ url }) => url === server))).map(({ url }) => url);
  const avoid = [...new Set([...job.avoid, ...small, ...(server === null ? [] : [server])])];
  const queue = isGpuQueue(services.config, job.queue) ? findQueue(servers, { job, avoid }) : null;
  if (queue !== null) {
    return { waits: false, set: { ...again.set, avoid, queue }, data: { server, next: "more_memory" } };
  }
  const place = await findDowngrade(services.db, services.config, {
    ...job,
    roles: await readRoles(services, job),
  });
  return place ? downgradeTo(place, input, server) : afterFreeing(services, input, server);
}

/**
 * One more attempt after the memory of the card was freed: models of earlier jobs may have filled it. Null if that was
 * done before.
 */
async function afterFreeing(
  services: Services,
  input: Rerouting,
  server: string | null,
): Promise<NextAttempt | null> {
  const { job, again } = input;
  const { jobEvents } = schema;
  const freed = and(eq(jobEvents.jobId, job.id), sql`${jobEvents.data}->>'next' = 'freed_memory'`);
  if ((await services.db.$count(jobEvents, freed)) > 0) return null;
  return { ...again, set: { ...again.set, avoid: [] }, data: { server, next: "freed_memory" } };
}

/** A server without more memory than the failed one would fail too. */
function isNotLarger(failed: LiveServer | undefined): (server: LiveServer) => boolean {
  const limit = failed?.vramBytes ?? 0;
  return ({ vramBytes }) => vramBytes !== null && vramBytes <= limit;
}

function downgradeTo(place: Downgrade, { job, error, again }: Rerouting, server: string | null): NextAttempt {
  const { queue, need, engine, workflow } = place;
  const placement: Placement = {
    chosen: { queue, need },
    isLive: true,
    weighed: job.placement?.weighed ?? [],
    downgrade: { from: job.need, queue: job.queue, reason: error.code },
    ...(job.placement?.asked ? { asked: job.placement.asked } : {}),
  };
  return {
    waits: false,
    set: { ...again.set, queue, need, engine, workflow, placement, avoid: server === null ? [] : [server] },
    data: { server, next: "cpu_queue", need, from: job.need },
  };
}

async function readRoles({ db }: Services, job: Job): Promise<ReadonlySet<string>> {
  const { jobInputs } = schema;
  const rows = await db.select({ role: jobInputs.role }).from(jobInputs).where(eq(jobInputs.jobId, job.id));
  return new Set(rows.map(({ role }) => role));
}
