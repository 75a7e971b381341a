import type { EngineName, Need } from "@atelier/server/engines";
import type { Lease } from "@atelier/server/jobs";

/** Why a run was aborted; decides what its end writes. */
export type StopReason = "cancelled" | "lost" | "stopping";

export class RunStopped extends Error {
  readonly reason: StopReason;

  constructor(reason: StopReason) {
    super(`the run was stopped: ${reason}`);
    this.name = "RunStopped";
    this.reason = reason;
  }
}

/** What a run takes up of its node. */
interface RunPlace {
  readonly lease: Lease;
  readonly queue: string;
  readonly engine: EngineName;
  readonly need: Need;
}

interface Run extends RunPlace {
  readonly controller: AbortController;
  readonly ended: Promise<void>;
  hasBegun: boolean;
}

/** The jobs that this process runs now. */
export interface Runs {
  add(place: RunPlace, work: (signal: AbortSignal) => Promise<void>): Promise<void>;
  leases(): Lease[];
  /** How many of a queue are under way. */
  count(queue: string): number;
  countOfEngine(engine: EngineName): number;
  /** The job's engine has begun its work: from now on it needs no further server. */
  noteBegun(lease: Lease): void;
  /** Those whose engine has not begun yet. */
  unbegun(): readonly RunPlace[];
  /** Stops the run of this lease alone; a later try of the same job goes on. */
  stop(lease: Lease, reason: StopReason): void;
  stopAll(reason: StopReason): void;
  /** From now on nothing new is begun. */
  close(): void;
  isClosed(): boolean;
  /** Resolves when no run is left. */
  settled(): Promise<void>;
}

const keyOf = ({ jobId, attempt }: Lease) => `${jobId}/${attempt}`;

export function createRuns(): Runs {
  const runs = new Map<string, Run>();
  let closed = false;
  const abort = (run: Run, reason: StopReason) => run.controller.abort(new RunStopped(reason));
  return {
    async add(place, work) {
      const controller = new AbortController();
      const ended = work(controller.signal);
      const run: Run = { ...place, controller, ended, hasBegun: false };
      const key = keyOf(place.lease);
      runs.set(key, run);
      try {
        await ended;
      } finally {
        runs.delete(key);
      }
    },
    leases: () => [...runs.values()].map((run) => run.lease),
    count: (queue) => [...runs.values()].filter((run) => run.queue === queue).length,
    countOfEngine: (engine) => [...runs.values()].filter((run) => run.engine === engine).length,
    noteBegun(lease) {
      const run = runs.get(keyOf(lease));
      if (run) run.hasBegun = true;
    },
    unbegun: () => [...runs.values()].filter(({ hasBegun }) => !hasBegun),
    stop(lease, reason) {
      const run = runs.get(keyOf(lease));
      if (run) abort(run, reason);
    },
    stopAll(reason) {
      for (const run of runs.values()) abort(run, reason);
    },
    close() {
      closed = true;
    },
    isClosed: () => closed,
    async settled() {
      await Promise.allSettled([...runs.values()].map((run) => run.ended));
    },
  };
}
