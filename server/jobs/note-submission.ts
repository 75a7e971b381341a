import { sql } from "drizzle-orm";
import type { Services } from "../services/index.ts";
import { hint } from "./hint.ts";
import { heldBy, type Lease } from "./lease.ts";
import { claimedStatuses } from "./status.ts";
import { amend } from "./transition.ts";

/** Stores what is about to be posted to a server, so that a later try adopts it. False when the lease is lost. */
export async function noteSubmission(
  services: Services,
  lease: Lease,
  submission: { server: string; externalId: string | null },
): Promise<boolean> {
  const job = await amend(services.db, {
    where: sql`${heldBy(lease)} and status in ${[...claimedStatuses]}`,
    set: submission,
    event: "posted",
    data: { server: submission.server },
  });
  if (job) hint(services, [job]);
  return job !== null;
}
