import type { JobView } from "@atelier/server/jobs";
import { hasEnded, type LiveProgress, type LiveState, type ProgressUpdate } from "./live-state.ts";

/** What the engines said last about running tries. */
export function createProgressTable() {
  const progressById = new Map<string, LiveProgress>();
  return {
    /** False when the update is of an earlier try, or of a job that ended or is not known. */
    accept({ jobId, attempt, progress, stage, preview }: ProgressUpdate, job: JobView | undefined): boolean {
      if (job === undefined || hasEnded(job) || attempt < job.attempt) return false;
      const known = progressById.get(jobId);
      const lastPreview = known?.attempt === attempt ? known.preview : null;
      progressById.set(jobId, { attempt, progress, stage, preview: preview ?? lastPreview });
      return true;
    },
    drop: (jobId: string) => progressById.delete(jobId),
    get: (jobId: string) => progressById.get(jobId),
    entries: (): LiveState["progress"] => [...progressById],
  };
}
