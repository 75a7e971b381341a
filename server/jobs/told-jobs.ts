import type { JobView } from "./read.ts";
import type { JobRevision } from "./live-reads.ts";
import { isFinal } from "./status.ts";
import type { FeedUpdate } from "./watchers.ts";

export type ProgressUpdate = Extract<FeedUpdate, { type: "progress" }>;

/** What the watchers of a process were told already: the newest revision and the newest progress of each job. */
export interface ToldJobs {
  isNewer(jobId: string, revision: number): boolean;
  /** Keeps of these jobs those that are newer, and remembers them and their owner. */
  takeNewer(ownerId: string, jobs: readonly JobView[]): JobView[];
  /** Remembers owner and status, which also change without a message. */
  note(row: Omit<JobRevision, "revision">): void;
  ownerOf(jobId: string): string | null;
  /** Jobs that an engine works on, with their owners. */
  running(): { readonly jobId: string; readonly ownerId: string }[];
  noteProgress(update: ProgressUpdate): void;
  /** Null also after the job's end. */
  lastProgress(jobId: string): ProgressUpdate | null;
  /** Forgets all jobs but these and those that were noted at `sinceMs` or later. */
  keepOnly(jobIds: ReadonlySet<string>, sinceMs: number): void;
}

interface Known {
  revision: number;
  ownerId: string;
  isRunning: boolean;
  progress: ProgressUpdate | null;
  notedAtMs: number;
}

export function createToldJobs(): ToldJobs {
  const known = new Map<string, Known>();
  const isNewer = (jobId: string, revision: number) => (known.get(jobId)?.revision ?? 0) < revision;
  const note: ToldJobs["note"] = ({ id, ownerId, isRunning }) => {
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

/** Workers send a preview once; until the next one it belongs to all later progress of the same try. */
export function withLastPreview(update: ProgressUpdate, last: ProgressUpdate | null): ProgressUpdate {
  const isSameTry = last?.attempt === update.attempt;
  return isSameTry && update.preview === null ? { ...update, preview: last.preview } : update;
}
