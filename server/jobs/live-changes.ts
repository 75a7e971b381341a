import { sql } from "drizzle-orm";
import { schema } from "../db/index.ts";
import type { Services } from "../services.ts";
import { isFinal, openStatuses } from "./job.ts";
import { type JobsUpdate, type JobView, loadViews } from "./read.ts";

// The changes of jobs that a live feed sends: which are to be read, and which its watchers have.

/** Views of these jobs, grouped by owner. */
async function readJobsByOwner(
  { db }: Pick<Services, "db">,
  ids: readonly string[],
): Promise<ReadonlyMap<string, readonly JobView[]>> {
  const { jobs } = schema;
  const [views, owners] = await Promise.all([
    loadViews(db, sql`jobs.id in ${[...ids]}`),
    db
      .select({ id: jobs.id, ownerId: jobs.ownerId })
      .from(jobs)
      .where(sql`${jobs.id} in ${[...ids]}`),
  ]);
  const ownerOf = new Map(owners.map((row) => [row.id, row.ownerId]));
  return Map.groupBy(views, (view) => ownerOf.get(view.id) ?? "");
}

export interface JobRevision {
  readonly id: string;
  readonly revision: number;
  readonly ownerId: string;
  /** The status is `processing`. */
  readonly isRunning: boolean;
}

/** Revisions of the owners' open jobs and of those that ended within the last `withinMs`. */
export async function readRevisions(
  { db }: Pick<Services, "db">,
  { ownerIds, withinMs }: { ownerIds: readonly string[]; withinMs: number },
): Promise<JobRevision[]> {
  const result = await db.execute<JobRevision & Record<string, unknown>>(sql`
    select id, revision, owner_id as "ownerId", status = 'processing' as "isRunning"
    from ${schema.jobs} where owner_id in ${[...ownerIds]}
      and (status in ${[...openStatuses]} or ended_at > now() - ${Math.round(withinMs)} * interval '1 millisecond')`);
  return result;
}

const readAtOnce = 200;

/** Jobs with a newer revision that are still to be read, in batches; a job that is added several times is read once. */
export interface PendingReads {
  add(jobId: string): void;
  /** Reads all pending jobs; returns at once while another call reads. */
  read(): Promise<void>;
}

export function createPendingReads(
  services: Pick<Services, "db" | "log">,
  onRead: (ownerId: string, jobs: readonly JobView[]) => void,
): PendingReads {
  const pending = new Set<string>();
  let reading = false;
  return {
    add: (jobId) => void pending.add(jobId),
    async read() {
      if (reading) return;
      reading = true;
      try {
        while (pending.size > 0) {
          const ids = [...pending].slice(0, readAtOnce);
          for (const id of ids) pending.delete(id);
          for (const [ownerId, jobs] of await readJobsByOwner(services, ids)) onRead(ownerId, jobs);
        }
      } catch (error) {
        services.log.warn({ err: error }, "live jobs not read, the next poll will");
      } finally {
        reading = false;
      }
    },
  };
}

export type ProgressUpdate = Extract<JobsUpdate, { type: "progress" }>;

/** The newest revision and progress of each job that this process has sent to its watchers. */
export interface SentRevisions {
  isNewer(jobId: string, revision: number): boolean;
  /** Returns the jobs with a newer revision and remembers them with their owner. */
  takeNewer(ownerId: string, jobs: readonly JobView[]): JobView[];
  /** Stores owner and status, which may change without a hint. */
  note(row: Omit<JobRevision, "revision">): void;
  ownerOf(jobId: string): string | null;
  /** Jobs in `processing` with their owners. */
  running(): { readonly jobId: string; readonly ownerId: string }[];
  noteProgress(update: ProgressUpdate): void;
  /** Null also after the end of the job. */
  lastProgress(jobId: string): ProgressUpdate | null;
  /** Removes all jobs except these and those noted at `sinceMs` or later. */
  keepOnly(jobIds: ReadonlySet<string>, sinceMs: number): void;
}

interface Known {
  revision: number;
  ownerId: string;
  isRunning: boolean;
  progress: ProgressUpdate | null;
  notedAtMs: number;
}

export function createSentRevisions(): SentRevisions {
  const known = new Map<string, Known>();
  const isNewer = (jobId: string, revision: number) => (known.get(jobId)?.revision ?? 0) < revision;
  const note: SentRevisions["note"] = ({ id, ownerId, isRunning }) => {
    const job = known.get(id) ?? { revision: 0, progress: null };
    known.set(id, Object.assign(job, { ownerId, isRunning, notedAtMs: performance.now() }));
  };
  const noteView = (ownerId: string, { id, revision, status }: JobView) => {
    note({ id, ownerId, isRunning: status === "processing" });
    const job = known.get(id);
    if (!job) return;
    job.revision = revision;
    if (isFinal(status)) job.progress = null;
  };
  return {
    isNewer,
    takeNewer(ownerId, jobs) {
      const newer = jobs.filter((job) => isNewer(job.id, job.revision));
      for (const job of newer) noteView(ownerId, job);
      return newer;
    },
    note,
    ownerOf: (jobId) => known.get(jobId)?.ownerId ?? null,
    running: () =>
      [...known].flatMap(([jobId, job]) => (job.isRunning ? [{ jobId, ownerId: job.ownerId }] : [])),
    noteProgress(update) {
      const job = known.get(update.jobId);
      if (job) job.progress = withLastPreview(update, job.progress);
    },
    lastProgress: (jobId) => known.get(jobId)?.progress ?? null,
    keepOnly(jobIds, sinceMs) {
      for (const [id, { notedAtMs }] of known) if (!jobIds.has(id) && notedAtMs < sinceMs) known.delete(id);
    },
  };
}

/** Workers send a preview once; it stays valid for later progress of the same attempt until the next preview. */
export function withLastPreview(update: ProgressUpdate, last: ProgressUpdate | null): ProgressUpdate {
  const isSameAttempt = last?.attempt === update.attempt;
  return isSameAttempt && update.preview === null ? { ...update, preview: last.preview } : update;
}
