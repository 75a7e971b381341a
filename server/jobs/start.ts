import { sql } from "drizzle-orm";
import type { Services } from "../services/index.ts";
import { hint } from "./hint.ts";
import type { Job } from "./job.ts";
import { heldBy, type Lease } from "./lease.ts";
import { transition } from "./transition.ts";

/** The engine begins: `waiting_for_engine` to `processing`. Null when the lease is no longer the current one. */
export async function start(services: Services, lease: Lease): Promise<Job | null> {
  const job = await transition(services.db, {
    from: ["waiting_for_engine"],
    to: "processing",
    where: heldBy(lease),
    set: { startedAt: sql`clock_timestamp()` },
    event: "started",
  });
  if (job) hint(services, [job]);
  return job;
}
