import { sql } from "drizzle-orm";
import { schema } from "../db/index.ts";
import type { Services } from "../services/index.ts";
import { hint } from "./hint.ts";
import type { Job } from "./job.ts";
import { claimedStatuses } from "./status.ts";
import { transitionAll } from "./transition.ts";

/**
 * Takes back claimed rows whose node is neither active nor draining: a query, not an event, so that it works whoever
 * noticed the loss. The job is charged for its worker's death and next runs alone; after the last charged try, and if it
 * is tried once, it fails.
 */
export async function recover(services: Services): Promise<Job[]> {
  const { jobs, nodes } = schema;
  const { maxCharged } = services.config.limits;
  const orphaned = sql`not exists (select 1 from ${nodes} n where n.id = ${jobs.nodeId} and n.state in ('active', 'draining'))`;
  const failed = await transitionAll(services.db, {
    from: claimedStatuses,
    to: "failed",
    where: sql`${orphaned} and (once or charged + 1 >= ${maxCharged}) and cancel_requested_at is null`,
    set: {
      charged: sql`charged + 1`,
      errorCode: "worker_lost",
      errorMessage: sql`'The worker ' || coalesce((select n.name from ${nodes} n where n.id = ${jobs.nodeId}), 'that ran it') || ' died while it worked on the job' || case when once then '.' else ', as others did before.' end`,
    },
    event: "failed",
    data: { code: "worker_lost" },
  });
  const requeued = await transitionAll(services.db, {
    from: claimedStatuses,
    to: "pending",
    // The limit again: a node may have been called lost since the statement above.
    where: sql`${orphaned} and ((not once and charged + 1 < ${maxCharged}) or cancel_requested_at is not null)`,
    set: { charged: sql`charged + 1`, runAlone: true, nodeId: null, progress: 0, stage: null },
    honourCancel: true,
    event: "worker_lost",
  });
  const all = [...failed, ...requeued];
  for (const job of all)
    services.log.warn(
      { jobId: job.id, status: job.status, charged: job.charged },
      "job taken back from a lost worker",
    );
  hint(services, all);
  return requeued;
}
