import { eq, inArray, sql } from "drizzle-orm";
import sharp from "sharp";
import { type JobStatus, type NodeState, schema, type Tier, tiers } from "@atelier/server/db";
import { jobKinds, localEngine, type Need, needOf } from "@atelier/server/engines";
import { ingest } from "@atelier/server/images";
import { dispatch, type Job, type Offer } from "@atelier/server/jobs";
import { writeQueues } from "@atelier/server/nodes";
import { newId } from "@atelier/server/platform";
import type { Services } from "@atelier/server/services";
import { waitUntil } from "../../scripts/process/tools.ts";
import type { EngineScript } from "../worker/index.ts";

/** Has a node be lost since so long ago, as the others see it after its process was killed. */
export async function loseNode(
  { db }: Pick<Services, "db">,
  { nodeId, agoMs }: { nodeId: string; agoMs: number },
): Promise<void> {
  const { nodes } = schema;
  const endedAt = sql`clock_timestamp() - ${agoMs} * interval '1 millisecond'`;
  await db.update(nodes).set({ state: "lost", endedAt }).where(eq(nodes.id, nodeId));
}

/** A user with one small real picture. */
export interface TestOwner {
  readonly userId: string;
  readonly isGuest: false;
  readonly imageId: string;
}

const sizePx = 16;

/** Adds a user of its own and a picture that the product took in. */
export async function addOwner(services: Services): Promise<TestOwner> {
  const userId = newId();
  await services.db
    .insert(schema.users)
    .values({ id: userId, name: "Test", email: `${userId}@example.test` });
  return { userId, isGuest: false, imageId: await addImage(services, userId) };
}

/** Takes in another picture of the user; each has a colour of its own. */
export async function addImage(services: Services, ownerId: string): Promise<string> {
  const [r = 0, g = 0, b = 0] = Buffer.from(newId().slice(-6), "hex");
  const create = { width: sizePx, height: sizePx, channels: 3 as const, background: { r, g, b } };
  const bytes = await sharp({ create }).png().toBuffer();
  const image = await ingest(services, { ownerId, role: "upload", bytes, name: "test.png" });
  return image.id;
}

/** The queue that every machine of the default configuration serves at least. */
export const testQueue = "cpu-light";

export interface TestJob {
  readonly owner: TestOwner;
  readonly tier?: Tier;
  /** What the simulated engine does with it. */
  readonly simulate?: EngineScript;
  readonly retention?: "keep" | "ephemeral";
  /** Whether its first failed try ends it. */
  readonly once?: boolean;
  /** Charged tries after the first that it allows itself. */
  readonly maxRetries?: number;
  /** `testQueue` by default. */
  readonly queue?: string;
  /** Workers that died under it; it then runs alone. */
  readonly lostWorkers?: number;
}

/**
 * Adds a waiting job as `submit` does, but with what submit does not take: a tier and a script for the simulated
 * engine. Rings for nothing; call `dispatch`, or let the sweep find it.
 */
export async function insertJob(services: Services, job: TestJob): Promise<string> {
  const id = newId();
  await services.db.transaction(async (tx) => {
    await tx.insert(schema.jobs).values({
      id,
      ownerId: job.owner.userId,
      kind: "upscale",
      status: "pending",
      tier: tiers[job.tier ?? "normal"],
      params: { scale: 2, ...(job.simulate ? { simulate: job.simulate } : {}) },
      queue: job.queue ?? testQueue,
      charged: job.lostWorkers ?? 0,
      runAlone: (job.lostWorkers ?? 0) > 0,
      engine: localEngine.name,
      need: "local/upscale",
      inputCount: 1,
      retention: job.retention ?? "keep",
      once: job.once ?? false,
      maxRetries: job.maxRetries ?? null,
    });
    await tx.insert(schema.jobEvents).values({ jobId: id, revision: 1, type: "created", status: "pending" });
    await tx.insert(schema.jobInputs).values({ jobId: id, role: "image", imageId: job.owner.imageId });
  });
  return id;
}

/** `insertJob`, and lets the line move. */
export async function addJob(services: Services, job: TestJob): Promise<string> {
  const id = await insertJob(services, job);
  await dispatch(services, job.queue ?? testQueue);
  return id;
}

export interface TestNode {
  readonly state?: NodeState;
  readonly slots?: number;
  readonly queue?: string;
  readonly needs?: readonly Need[];
  /** Providers of whose keys it holds one. */
  readonly providers?: readonly string[];
}

/** What a node with nothing but the engine of this computer can claim. */
export const localOffers: readonly Offer[] = [{ need: "local/upscale", servers: null }];

const localNeeds = jobKinds.map((kind) => needOf({ engine: "local", kind, workflow: null }));

/** Adds the row of a node without any process behind it; it beats for nobody. */
export async function addNode(
  { db }: Pick<Services, "db">,
  { state = "active", slots = 1, queue = testQueue, needs = localNeeds, providers = [] }: TestNode = {},
): Promise<string> {
  const id = newId();
  await db.insert(schema.nodes).values({
    id,
    name: `node-${id.slice(-6)}`,
    hostname: "test",
    bootId: "test",
    pid: 1,
    pidStartedAt: "0",
    capability: {
      cores: 2,
      memoryBytes: 4 * 1024 ** 3,
      kinds: jobKinds,
      gpus: [],
      engines: ["local"],
      ...(providers.length > 0 ? { providers } : {}),
    },
    state,
    // No process beats for it, yet it counts as live in a test of any length.
    seenAt: sql`now() + interval '1 day'`,
  });
  await writeQueues(db, id, [{ queue, slots, needs }]);
  return id;
}

const gib = 1024 ** 3;

export interface TestServer {
  readonly nodeId: string;
  readonly url: string;
  readonly needs: readonly Need[];
  readonly vramGib?: number;
  readonly state?: "healthy" | "down";
  /** What it lacks, by workflow. */
  readonly missing?: Readonly<Record<string, readonly string[]>>;
  /** Needs for which its card may be too small. */
  readonly tightNeeds?: readonly Need[];
  /** What it lists that jobs choose. */
  readonly lists?: Readonly<Record<string, readonly string[]>>;
}

/** Adds the row of a server that a node sees; nothing listens there. */
export async function addServer(
  { db }: Pick<Services, "db">,
  {
    nodeId,
    url,
    needs,
    vramGib = 24,
    state = "healthy",
    missing = {},
    tightNeeds = [],
    lists = {},
  }: TestServer,
): Promise<void> {
  await db.insert(schema.engineServers).values({
    nodeId,
    url,
    engine: "comfyui",
    label: url.replace("http://", ""),
    state,
    device: "cuda",
    vramTotalBytes: vramGib * gib,
    needs: [...needs],
    missing,
    tightNeeds: [...tightNeeds],
    lists,
    sources: ["test"],
  });
}

type WithDb = Pick<Services, "db">;

/** The row as it is now; throws when there is none. */
export async function readJob({ db }: WithDb, id: string): Promise<Job> {
  const [job] = await db.select().from(schema.jobs).where(eq(schema.jobs.id, id));
  if (!job) throw new Error(`there is no job ${id}`);
  return job;
}

/** The story of a job, oldest first. */
export async function readStory({ db }: WithDb, id: string) {
  const { jobEvents } = schema;
  return db.select().from(jobEvents).where(eq(jobEvents.jobId, id)).orderBy(jobEvents.revision);
}

/** Waits until all these jobs have one of the statuses; throws with what they are after `patienceMs`. */
export async function untilAll(
  services: WithDb,
  ids: readonly string[],
  { statuses, patienceMs = 90_000 }: { statuses: readonly JobStatus[]; patienceMs?: number },
): Promise<Job[]> {
  const { jobs } = schema;
  let rows: Job[] = [];
  const reached = await waitUntil(async () => {
    rows = await services.db
      .select()
      .from(jobs)
      .where(inArray(jobs.id, [...ids]))
      // The database itself may be what the test stopped.
      .catch(() => []);
    return rows.length === ids.length && rows.every((row) => statuses.includes(row.status));
  }, patienceMs);
  if (reached) return rows;
  const seen = rows.map(({ id, status, attempt, charged, errorCode }) => ({
    id,
    status,
    attempt,
    charged,
    errorCode,
  }));
  throw new Error(`not ${statuses.join(" or ")}: ${JSON.stringify(seen)}`);
}

/** Waits for one job. */
export async function until(services: WithDb, id: string, ...statuses: JobStatus[]): Promise<Job> {
  const [job] = await untilAll(services, [id], { statuses });
  if (!job) throw new Error(`there is no job ${id}`);
  return job;
}
