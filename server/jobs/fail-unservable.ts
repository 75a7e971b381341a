import { sql } from "drizzle-orm";
import { schema } from "../db/index.ts";
import { localEngine } from "../engines/index.ts";
import type { Services } from "../services/index.ts";
import { hint } from "./hint.ts";
import { transitionAll } from "./transition.ts";

const message = "No server that was seen in the last 24 hours can do this any more.";

/**
 * Ends waiting jobs that no node of the last 24 hours could serve: `submit` would refuse them now. Only once a node has
 * been up for an hour: after a longer stop of everything the servers must be found first. One statement, so that what is
 * submitted meanwhile is held against the same nodes.
 */
export async function failUnservable(services: Services): Promise<void> {
  const { jobs, nodes, nodeQueues } = schema;
  const failed = await transitionAll(services.db, {
    from: ["pending", "queued"],
    to: "failed",
    where: sql`${jobs.engine} <> ${localEngine.name}
      and exists (select 1 from ${nodes} n where n.state = 'active' and n.started_at < now() - interval '1 hour')
      and not exists (
        select 1 from ${nodeQueues} q join ${nodes} n on n.id = q.node_id
        where (${jobs.need} = any(q.seen_needs) or ${jobs.need} = any(q.needs))
          and (n.state = 'active' or n.seen_at > now() - interval '24 hours'))`,
    set: { errorCode: "no_engine", errorMessage: message },
    event: "failed",
    data: { code: "no_engine", message },
  });
  if (failed.length === 0) return;
  hint(services, failed);
  services.log.warn({ jobIds: failed.map(({ id }) => id) }, "jobs failed that nothing can run any more");
}
