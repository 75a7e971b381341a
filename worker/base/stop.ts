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
