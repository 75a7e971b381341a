import type { JobsUpdate, JobView } from "@atelier/server/jobs";

/** What the engine said last about a running try. */
export interface LiveProgress {
  readonly attempt: number;
  readonly progress: number;
  readonly stage: string;
  readonly preview: string | null;
}

export type Connection = "connecting" | "live" | "reconnecting";

/** Everything one tab knows, in a shape that can be sent to another tab. */
export interface LiveState {
  readonly jobs: readonly JobView[];
  readonly progress: readonly (readonly [string, LiveProgress])[];
  readonly connection: Connection;
  /** Time of the last update; where a new stream resumes. */
  readonly at: string | null;
}

export type ProgressUpdate = Extract<JobsUpdate, { type: "progress" }>;

const endedStatuses: ReadonlySet<string> = new Set(["completed", "failed", "cancelled"]);

export function hasEnded(job: Pick<JobView, "status">): boolean {
  return endedStatuses.has(job.status);
}
