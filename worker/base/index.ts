/**
 * What all rooms of the worker stand on: how work repeats, how much of it is under way, and how a run ends that threw.
 *
 *   loop.ts       a pass that repeats until it is stopped
 *   slots.ts      a bounded number of pieces of work under way
 *   spans.ts      what a trace shows of a job: its wait and its run; and the log of the run
 *   end-badly.ts  writes the end of a run that threw, by the reason for which it was stopped
 *
 * Words: an *incarnation* is the node that this process is now; a *stop reason* says why a run was aborted.
 *
 * Not here: imports of other rooms of the worker.
 */
import type { Node } from "@atelier/server/nodes";

/** The current node of this process. When the watch of another worker marks it lost, a new one is registered. */
export interface Incarnation {
  /** Null while a new incarnation is being registered. */
  current(): Node | null;
  /** Ends the beat; `current` no longer changes. */
  stop(): Promise<void>;
}

/** Why a run was aborted; decides which end is written. */
export type StopReason = "cancelled" | "lost" | "stopping";

export class RunStopped extends Error {
  readonly reason: StopReason;

  constructor(reason: StopReason) {
    super(`the run was stopped: ${reason}`);
    this.name = "RunStopped";
    this.reason = reason;
  }
}
