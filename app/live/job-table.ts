import type { JobView } from "@atelier/server/jobs";

/** What a row of a list shows of a job; the rest is told to the watchers of that job alone. */
function rowOf({ status, cancelRequested, error, outputs }: JobView): string {
  return JSON.stringify([status, cancelRequested, error, outputs]);
}

function changesRow(known: JobView | undefined, job: JobView): boolean {
  return known === undefined || rowOf(known) !== rowOf(job);
}

export interface Acceptance {
  readonly known: JobView | undefined;
  readonly changesRow: boolean;
}

/** The newest state of each job. */
export function createJobTable() {
  const jobById = new Map<string, JobView>();
  let list: readonly JobView[] = [];
  return {
    /** null when the job is known as new or newer. */
    accept(job: JobView): Acceptance | null {
      const known = jobById.get(job.id);
      if (known !== undefined && known.revision >= job.revision) return null;
      jobById.set(job.id, job);
      return { known, changesRow: changesRow(known, job) };
    },
    get: (id: string) => jobById.get(id),
    all: (): readonly JobView[] => [...jobById.values()],
    /** Newest first, as of the last `relist`. */
    list: () => list,
    relist() {
      list = [...jobById.values()].sort((a, b) => (a.id < b.id ? 1 : -1));
    },
  };
}
