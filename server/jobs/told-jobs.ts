import type { JobView } from "./job-view.ts";
import { isFinal } from "./status.ts";
import type { FeedUpdate } from "./watchers.ts";

type ProgressUpdate = Extract<FeedUpdate, { type: "progress" }>;

/** What the watchers of a process were told already: the newest revision and the newest progress of each job. */
export interface ToldJobs {
  isNewer(jobId: string, revision: number): boolean;
  /** Keeps of these jobs those that are newer, and remembers them. */
  takeNewer(jobs: readonly JobView[]): JobView[];
  noteProgress(update: ProgressUpdate): void;
  /** Null also after the job's end. */
  lastProgress(jobId: string): ProgressUpdate | null;
  /** Forgets all jobs but these. */
  keepOnly(jobIds: ReadonlySet<string>): void;
}

export function createToldJobs(): ToldJobs {
  const revisions = new Map<string, number>();
  const progress = new Map<string, ProgressUpdate>();
  const isNewer = (jobId: string, revision: number) => (revisions.get(jobId) ?? 0) < revision;
  return {
    isNewer,
    takeNewer(jobs) {
      const newer = jobs.filter((job) => isNewer(job.id, job.revision));
      for (const job of newer) {
        revisions.set(job.id, job.revision);
        if (isFinal(job.status)) progress.delete(job.id);
      }
      return newer;
    },
    noteProgress: (update) => void progress.set(update.jobId, update),
    lastProgress: (jobId) => progress.get(jobId) ?? null,
    keepOnly(jobIds) {
      for (const map of [revisions, progress])
        for (const id of map.keys()) if (!jobIds.has(id)) map.delete(id);
    },
  };
}
