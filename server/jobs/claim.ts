import { sql, type SQL } from "drizzle-orm";
import { schema } from "../db/index.ts";
import type { Need } from "../engines/index.ts";
import type { Services } from "../services/index.ts";
import { hint } from "./hint.ts";
import type { Job } from "./job.ts";
import { letNextOut } from "./let-next-out.ts";
import { transition } from "./transition.ts";

export interface Claimant {
  readonly nodeId: string;
  readonly queue: string;
  readonly offers: readonly Offer[];
}

/** A need that the node can serve now. */
export interface Offer {
  readonly need: Need;
  /** Addresses of the servers that can serve it; null where no server takes part. */
  readonly servers: readonly string[] | null;
}

/** Rows that one of the offers can run; a job that has to avoid all servers of an offer is none of them. */
function isOffered(offers: readonly Offer[]): SQL {
  const without = offers.filter(({ servers }) => servers === null).map(({ need }) => need);
  const withServers = offers.filter(({ servers }) => servers !== null);
  const plain = without.length > 0 ? sql`j.need in ${without}` : sql`false`;
  if (withServers.length === 0) return plain;
  return sql`(${plain} or exists (
    select 1 from jsonb_to_recordset(${JSON.stringify(withServers)}::jsonb) as o(need text, servers text[])
    where o.need = j.need and not o.servers <@ j.avoid))`;
}

/**
 * Takes the first fair `queued` row of a queue that this node can run; null when there is none or the node is not
 * active. Of any number of racers for one row exactly one gets it: the row is locked while it is picked, and the
 * node row is held FOR SHARE so that it cannot be declared lost in between. A job that a worker died under runs
 * alone on its node: when it is the next, a busy node claims nothing until it is empty, so that others cannot pass
 * it by for ever. One node claims one job at a time (the caller's duty), so that two claims cannot miss each other.
 */
export async function claim(services: Services, { nodeId, queue, offers }: Claimant): Promise<Job | null> {
  if (offers.length === 0) return null;
  const { jobs, nodes } = schema;
  const running = sql`select 1 from ${jobs} r where r.node_id = ${nodeId} and r.status in ('waiting_for_engine', 'processing')`;
  const job = await transition(services.db, {
    from: ["queued"],
    to: "waiting_for_engine",
    where: sql`${jobs.id} = (
      select next.id from (
        select j.id, j.run_alone from ${jobs} j
        where j.queue = ${queue} and j.status = 'queued' and ${isOffered(offers)}
          and exists (select 1 from (select n.id from ${nodes} n where n.id = ${nodeId} and n.state = 'active' for share) active)
          and not exists (${running} and r.run_alone)
        order by j.tier desc, j.queued_at, j.id limit 1 for update of j skip locked
      ) next where not next.run_alone or not exists (${running}))`,
    set: {
      attempt: sql`attempt + 1`,
      nodeId,
      claimedAt: sql`clock_timestamp()`,
      startedAt: null,
      progress: 0,
      stage: null,
    },
    event: "claimed",
    data: { nodeId },
  });
  if (!job) return null;
  hint(services, [job]);
  // Not awaited: the run need not wait for the next ones.
  void letNextOut(services, queue);
  return job;
}
