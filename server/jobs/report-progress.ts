import { sql } from "drizzle-orm";
import type { Services } from "../services/index.ts";
import { hint } from "./hint.ts";
import { heldBy, type Lease } from "./lease.ts";
import { amend } from "./transition.ts";

export interface Progress {
  /** 0..1 */
  readonly progress: number;
  readonly stage: string;
}

/** Writes progress to the row; the caller does so every few seconds at most. False when the lease is lost. */
export async function persistProgress(
  services: Services,
  lease: Lease,
  { progress, stage }: Progress,
): Promise<boolean> {
  const job = await amend(services.db, {
    where: sql`${heldBy(lease)} and status = 'processing'`,
    set: { progress, stage },
    event: "progress",
    data: { progress, stage },
  });
  if (job) hint(services, [job]);
  return job !== null;
}
