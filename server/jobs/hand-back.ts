import type { Services } from "../services/index.ts";
import { hint } from "./hint.ts";
import type { Job } from "./job.ts";
import { heldBy, type Lease } from "./lease.ts";
import { letNextOut } from "./let-next-out.ts";
import { claimedStatuses } from "./status.ts";
import { transition } from "./transition.ts";

/** A worker that stops gives its job back to the line; costs the job nothing. */
export async function handBack(services: Services, lease: Lease): Promise<Job | null> {
  const job = await transition(services.db, {
    from: claimedStatuses,
    to: "pending",
    where: heldBy(lease),
    // What it posted goes on at its server: the next try adopts it.
    set: { nodeId: null, progress: 0, stage: null },
    honourCancel: true,
    event: "handed_back",
  });
  if (!job) return null;
  hint(services, [job]);
  await letNextOut(services, job.queue);
  return job;
}
