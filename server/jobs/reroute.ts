import { and, eq, sql } from "drizzle-orm";
import { schema, type Placement } from "../db/index.ts";
import { ruleOf, type AppError } from "../platform/index.ts";
import {
  findDowngrade,
  isGpuQueue,
  liveServers,
  type Downgrade,
  type LiveServer,
} from "../scheduling/index.ts";
import type { Services } from "../services/index.ts";
import type { Job } from "./job.ts";

/** Where a failed try goes next. */
export interface Way {
  /** Whether it waits a while before: the trouble may pass. */
  readonly waits: boolean;
  readonly set: Partial<
    Pick<Job, "avoid" | "queue" | "engine" | "workflow" | "need" | "placement" | "externalId">
  >;
  readonly data: Readonly<Record<string, unknown>>;
}

/** The result may still lie on the server: only storing it did not work. */
const keepsSubmission = new Set(["storage_unavailable", "database_unavailable"]);

/**
 * Decides by the error's row in the table: the same place after a while, another server, or, when no graphics card has
 * the memory, a CPU queue as a declared downgrade, else once more after the card was freed. Null when nothing else can be tried.
 */
export async function reroute(services: Services, job: Job, error: AppError): Promise<Way | null> {
  const again: Way = {
    waits: true,
    set: keepsSubmission.has(error.code) ? {} : { externalId: null },
    data: {},
  };
  switch (ruleOf(error.code).strategy) {
    case "fail":
      return null;
    case "retry":
    case "next_provider":
      return again;
    case "other_server":
    case "only_other_server":
      return elsewhere(services, { job, error, again });
    case "cpu_queue":
      return withMoreMemory(services, { job, error, again });
  }
}

interface Rerouting {
  readonly job: Job;
  readonly error: AppError;
  readonly again: Way;
}

/** The address where it failed: the engine says it, else the one that the job was posted to. */
function failedServer({ job, error }: Rerouting): string | null {
  const named = error.details?.["server"];
  if (typeof named === "string") return named;
  // No server was free: what an earlier try was posted to has no part in it.
  return error.code === "server_busy" ? null : job.server;
}

async function elsewhere(services: Services, input: Rerouting): Promise<Way | null> {
  const { job, error, again } = input;
  const server = failedServer(input);
  if (server === null) return again;
  const avoid = [...new Set([...job.avoid, server])];
  const queue = findQueue(await serversOfClass(services, job), { job, avoid });
  if (queue !== null) {
    return { waits: false, set: { ...again.set, avoid, queue }, data: { server, next: "other_server" } };
  }
  // What is missing on the only server does not come by waiting; a server that is away does come back.
  if (ruleOf(error.code).strategy === "only_other_server") return null;
  return { ...again, set: { ...again.set, avoid: [] }, data: { server } };
}

/** Servers of the job's class of hardware: from cards to the CPU is a downgrade, which is declared. */
async function serversOfClass({ db, config }: Services, job: Job): Promise<LiveServer[]> {
  const isGpu = isGpuQueue(config, job.queue);
  return (await liveServers(db, config, job.need)).filter(({ queue }) => isGpuQueue(config, queue) === isGpu);
}

/** The queue through which a server is reached that need not be avoided, the job's own if possible. */
function findQueue(
  servers: readonly LiveServer[],
  { job, avoid }: { job: Job; avoid: readonly string[] },
): string | null {
  const left = servers.filter(({ url }) => !avoid.includes(url));
  return (left.find(({ queue }) => queue === job.queue) ?? left[0])?.queue ?? null;
}

async function withMoreMemory(services: Services, input: Rerouting): Promise<Way | null> {
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

/** A card is freed after it ran out of memory: models of earlier jobs may have filled it, so it gets one more try. */
async function afterFreeing(
  services: Services,
  input: Rerouting,
  server: string | null,
): Promise<Way | null> {
  const { job, again } = input;
  const { jobEvents } = schema;
  const freed = and(eq(jobEvents.jobId, job.id), sql`${jobEvents.data}->>'next' = 'freed_memory'`);
  if ((await services.db.$count(jobEvents, freed)) > 0) return null;
  return { ...again, set: { ...again.set, avoid: [] }, data: { server, next: "freed_memory" } };
}

/** A server without as much memory as where it failed would fail as well. */
function isNotLarger(failed: LiveServer | undefined): (server: LiveServer) => boolean {
  const limit = failed?.vramBytes ?? 0;
  return ({ vramBytes }) => vramBytes !== null && vramBytes <= limit;
}

function downgradeTo(place: Downgrade, { job, error, again }: Rerouting, server: string | null): Way {
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
