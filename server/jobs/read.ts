import type { EngineName, InputRole, JobKind, Need } from "../engines/index.ts";
import type { Estimate, JobStatus, Placement, Retention, Tier } from "../db/index.ts";
import type { ErrorCode } from "../platform/index.ts";

/** A job as people and programs see it; the same shape in lists, live updates and single reads. Times are ISO 8601, UTC. */
export interface JobView {
  readonly id: string;
  readonly kind: JobKind;
  readonly status: JobStatus;
  /** 0..1 */
  readonly progress: number;
  /** Key of the message catalogue `stages`; null before the engine has said anything. */
  readonly stage: string | null;
  readonly tier: Tier;
  readonly revision: number;
  readonly attempt: number;
  readonly engine: EngineName;
  readonly workflow: string | null;
  readonly need: Need;
  readonly queue: string;
  readonly node: string | null;
  /** Address of the server that the last try was posted to, without its scheme; null while none is known. */
  readonly server: string | null;
  /** Why it runs where it runs. */
  readonly placement: Placement | null;
  /** What was expected when it was submitted. */
  readonly estimate: Estimate | null;
  /** Tries that the job itself spent. */
  readonly charged: number;
  /** It is not tried before this time. */
  readonly notBefore: string | null;
  readonly retention: Retention;
  readonly params: Readonly<Record<string, unknown>>;
  readonly error: { readonly code: ErrorCode; readonly message: string } | null;
  readonly cancelRequested: boolean;
  readonly retryOf: string | null;
  readonly inputs: readonly { readonly role: InputRole; readonly imageId: string }[];
  readonly outputs: readonly JobOutputView[];
  readonly createdAt: string;
  readonly queuedAt: string | null;
  readonly claimedAt: string | null;
  readonly startedAt: string | null;
  readonly endedAt: string | null;
}

export interface JobOutputView {
  readonly imageId: string;
  readonly widthPx: number;
  readonly heightPx: number;
  readonly thumbhash: string;
}

/** What the one live stream of a browser carries. `jobs` replaces what is known of these jobs if its revision is newer. */
export type JobsUpdate =
  | { readonly type: "snapshot"; readonly jobs: readonly JobView[]; readonly at: string }
  | { readonly type: "jobs"; readonly jobs: readonly JobView[]; readonly at: string }
  | {
      readonly type: "progress";
      readonly jobId: string;
      readonly attempt: number;
      readonly progress: number;
      readonly stage: string;
      /** data: URL of a small preview. */
      readonly preview: string | null;
    }
  | { readonly type: "alive"; readonly at: string };

/** One line of a job's story. */
export interface JobEventView {
  readonly revision: number;
  readonly type: string;
  readonly status: JobStatus;
  readonly data: Readonly<Record<string, unknown>>;
  readonly at: string;
}
