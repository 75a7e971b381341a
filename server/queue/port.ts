/** A bell invites the nodes of a queue to claim; it names the job that caused it, not the one that is claimed. */
export interface Bell {
  readonly jobId: string;
  readonly attempt: number;
  readonly ring: number;
}

/** A node's subscription to one queue. */
export interface BellConsumer {
  /** Changes how many bells are answered at once; at least 1. */
  setSlots(slots: number): void;
  /** Takes no new bells; resolves when those under way are done. */
  close(): Promise<void>;
}

export interface Bells {
  /** Rings once per bell; a bell that is lost is rung again by the sweep. */
  ring(queue: string, bells: readonly Bell[]): Promise<void>;
  /** Calls `onBell` for each bell, at most `slots` at once. */
  consume(queue: string, slots: number, onBell: (bell: Bell) => Promise<void>): BellConsumer;
  /** Throws when the backend cannot be reached. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

/** What changed, said after commit. Losing a hint costs at most one second. */
export interface JobHint {
  readonly ownerId: string;
  readonly jobId: string;
  readonly revision: number;
}

/** Progress between two revisions; never stored by the receiver. */
export interface LiveProgress {
  readonly ownerId: string;
  readonly jobId: string;
  readonly attempt: number;
  readonly progress: number;
  readonly stage: string;
  /** Base64 of a small preview. */
  readonly preview?: string;
}

export type HintMessage =
  | { readonly type: "jobs"; readonly jobs: readonly JobHint[] }
  | { readonly type: "progress"; readonly progress: LiveProgress }
  | { readonly type: "cancel"; readonly jobId: string };

/** Publish and subscribe between processes: Redis, or NOTIFY of PostgreSQL outside of the jobs' transactions. */
export interface Hints {
  publish(message: HintMessage): void;
  subscribe(listener: (message: HintMessage) => void): () => void;
  close(): Promise<void>;
}
