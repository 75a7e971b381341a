import { isDatabaseAway } from "@atelier/server/db";
import { confirmCancel, fail, handBack, type Job, type Lease } from "@atelier/server/jobs";
import { persist } from "@atelier/server/leases";
import { AppError, isTimeout, toAppError } from "@atelier/server/platform";
import type { Services } from "@atelier/server/services";
import { RunStopped } from "./index.ts";

/** `fenced`: the lease is no longer valid (the job was ended or claimed elsewhere), or the end could not be written. */
export type BadEnd = "failed" | "cancelled" | "handed_back" | "fenced";

/** Writes the end of a run that threw. */
export async function endBadly(services: Services, lease: Lease, error: unknown): Promise<BadEnd> {
  try {
    if (error instanceof RunStopped) return await endStopped(services, lease, error);
    const failure = classify(error);
    services.log.warn({ err: failure.cause ?? failure, code: failure.code }, "run failed");
    return (await fail(services, lease, failure)) ? "failed" : "fenced";
  } catch (writeError) {
    // The database is away: the sweep of this node (`handBackUnknown`) or the loss of the node ends the lease later.
    services.log.error({ err: writeError }, "the end of a run could not be stored");
    return "fenced";
  }
}

async function endStopped(services: Services, lease: Lease, { reason }: RunStopped): Promise<BadEnd> {
  switch (reason) {
    case "cancelled":
      return (await confirmCancel(services, lease)) ? "cancelled" : "fenced";
    case "stopping":
      return (await handBackInTime(services, lease)) ? "handed_back" : "fenced";
    case "lost":
      return "fenced";
  }
}

/** Shorter than the time between the hand-back and the end of the grace time. */
const handBackPatienceMs = 3_000;

/** No later sweep of a node that stops repeats a hand-back that failed, and the loss of the node would charge the job. */
function handBackInTime(services: Services, lease: Lease): Promise<Job | null> {
  return persist(() => handBack(services, lease), { patienceMs: handBackPatienceMs });
}

function classify(error: unknown): AppError {
  if (isTimeout(error)) return new AppError("engine_timeout", undefined, { cause: error });
  if (isDatabaseAway(error)) return new AppError("database_unavailable", undefined, { cause: error });
  return toAppError(error);
}
