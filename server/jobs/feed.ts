import { sql } from "drizzle-orm";
import { schema } from "../db/index.ts";
import type { HintMessage, LiveProgress } from "../queue/index.ts";
import type { Services } from "../services/index.ts";
import type { JobsUpdate, JobView } from "./job-view.ts";
import { loadViews } from "./load-views.ts";
import { isFinal, openStatuses } from "./status.ts";

/** Whoever is told about the jobs of one owner. */
export interface Watcher {
  readonly ownerId: string;
  push(update: Extract<JobsUpdate, { type: "jobs" | "progress" }>): void;
}

/** The one reader of a web process: reads each hinted job once and feeds every watcher of its owner. */
export interface JobFeed {
  add(watcher: Watcher): () => void;
  /** The newest live progress of a job, for those who come late. */
  lastProgress(jobId: string): Extract<JobsUpdate, { type: "progress" }> | null;
  close(): void;
}

const pollMs = 1_000;
/** A poll also finds jobs that ended this long before the last successful one. */
const lookBackMs = 15_000;
const readAtOnce = 200;

export function createJobFeed(services: Services): JobFeed {
  const watchers = new Map<string, Set<Watcher>>();
  const known = new Map<string, number>();
  const progress = new Map<string, Extract<JobsUpdate, { type: "progress" }>>();
  const wanted = new Set<string>();
  let reading = false;
  let polledAtMs = performance.now();

  const tell = (ownerId: string, update: Extract<JobsUpdate, { type: "jobs" | "progress" }>) => {
    for (const watcher of watchers.get(ownerId) ?? []) watcher.push(update);
  };

  const publish = (ownerId: string, jobs: readonly JobView[]) => {
    const newer = jobs.filter((job) => (known.get(job.id) ?? 0) < job.revision);
    for (const job of newer) {
      known.set(job.id, job.revision);
      if (isFinal(job.status)) progress.delete(job.id);
    }
    if (newer.length > 0) tell(ownerId, { type: "jobs", jobs: newer, at: new Date().toISOString() });
  };

  async function readWanted(): Promise<void> {
    if (reading) return;
    reading = true;
    try {
      while (wanted.size > 0) {
        const ids = [...wanted].slice(0, readAtOnce);
        for (const id of ids) wanted.delete(id);
        await readJobs(services, ids, publish);
      }
    } catch (error) {
      services.log.warn({ err: error }, "live jobs not read, the next poll will");
    } finally {
      reading = false;
    }
  }

  const want = (id: string, revision: number) => {
    if ((known.get(id) ?? 0) < revision) wanted.add(id);
  };

  const onHint = (message: HintMessage) => {
    if (message.type === "progress") {
      const update = toUpdate(message.progress);
      if (!watchers.has(message.progress.ownerId)) return;
      progress.set(update.jobId, update);
      tell(message.progress.ownerId, update);
    }
    if (message.type === "jobs") {
      for (const { ownerId, jobId, revision } of message.jobs)
        if (watchers.has(ownerId)) want(jobId, revision);
      void readWanted();
    }
  };

  async function poll(): Promise<void> {
    if (watchers.size === 0) return;
    const startedMs = performance.now();
    const rows = await readRevisions(services, [...watchers.keys()], startedMs - polledAtMs + lookBackMs);
    polledAtMs = startedMs;
    for (const { id, revision } of rows) want(id, revision);
    const recent = new Set(rows.map((row) => row.id));
    for (const id of known.keys()) if (!recent.has(id)) known.delete(id);
    await readWanted();
  }

  let polling = false;
  const timer = setInterval(() => {
    if (polling) return;
    polling = true;
    poll()
      .catch((error: unknown) => services.log.warn({ err: error }, "poll of live jobs failed"))
      .finally(() => {
        polling = false;
      });
  }, pollMs);
  timer.unref();
  const unsubscribe = services.hints.subscribe(onHint);

  return {
    add(watcher) {
      const own = watchers.get(watcher.ownerId) ?? new Set();
      if (watchers.size === 0) polledAtMs = performance.now();
      watchers.set(watcher.ownerId, own.add(watcher));
      return () => {
        own.delete(watcher);
        if (own.size === 0) watchers.delete(watcher.ownerId);
      };
    },
    lastProgress: (jobId) => progress.get(jobId) ?? null,
    close() {
      clearInterval(timer);
      unsubscribe();
    },
  };
}

async function readJobs(
  services: Services,
  ids: readonly string[],
  publish: (ownerId: string, jobs: readonly JobView[]) => void,
): Promise<void> {
  const { jobs } = schema;
  const among = sql`jobs.id in ${[...ids]}`;
  const [views, owners] = await Promise.all([
    loadViews(services.db, among),
    services.db
      .select({ id: jobs.id, ownerId: jobs.ownerId })
      .from(jobs)
      .where(sql`${jobs.id} in ${[...ids]}`),
  ]);
  const ownerOf = new Map(owners.map((row) => [row.id, row.ownerId]));
  for (const [ownerId, own] of Map.groupBy(views, (view) => ownerOf.get(view.id) ?? ""))
    publish(ownerId, own);
}

async function readRevisions({ db }: Services, ownerIds: readonly string[], withinMs: number) {
  const result = await db.execute<{ id: string; revision: number }>(sql`
    select id, revision from ${schema.jobs} where owner_id in ${[...ownerIds]}
      and (status in ${[...openStatuses]} or ended_at > now() - ${Math.round(withinMs)} * interval '1 millisecond')`);
  return result.rows;
}

function toUpdate({
  jobId,
  attempt,
  progress,
  stage,
  preview,
}: LiveProgress): Extract<JobsUpdate, { type: "progress" }> {
  return {
    type: "progress",
    jobId,
    attempt,
    progress,
    stage,
    preview: preview ? `data:image/jpeg;base64,${preview}` : null,
  };
}

const feeds = new WeakMap<Services, JobFeed>();

/** The feed of this process, opened on first use. */
export function feedOf(services: Services): JobFeed {
  const known = feeds.get(services);
  if (known) return known;
  const feed = createJobFeed(services);
  feeds.set(services, feed);
  return feed;
}
