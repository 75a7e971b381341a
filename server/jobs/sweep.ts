import { sql } from "drizzle-orm";
import { schema } from "../db/index.ts";
import type { Need } from "../engines/index.ts";
import { purgeDeleted } from "../images/index.ts";
import { pruneEnded, pruneNeeds } from "../nodes/index.ts";
import type { Services } from "../services/index.ts";
import { dispatch } from "./dispatch.ts";
import { expireEphemeral } from "./expire-ephemeral.ts";
import { expireGuests } from "./cleanup.ts";
import { failUnservable } from "./fail-unservable.ts";
import { forgiveServers } from "./forgive-servers.ts";
import { moveStranded } from "./move-stranded.ts";
import { pruneEvents } from "./prune-events.ts";
import { pruneKeys } from "./prune-keys.ts";
import { pruneSignIns } from "./prune-sign-ins.ts";
import { recover } from "./recover.ts";
import { rering } from "./rering.ts";

/** One pass of the safety net (A6): whatever a crash or a lost message left behind goes on. Safe to run anywhere, any time. */
export async function sweep(services: Services): Promise<void> {
  await recover(services);
  await moveStranded(services);
  await forgiveServers(services);
  await failUnservable(services);
  for (const queue of await queuesInLine(services)) await dispatch(services, queue);
  await rering(services);
}

/** What may be removed by rows. Run every minute by each worker; objects without rows are `sweepOrphanObjects`. */
export async function tidy(services: Services): Promise<void> {
  await expireEphemeral(services);
  await purgeDeleted(services);
  await expireGuests(services);
  await pruneEvents(services);
  await pruneKeys(services);
  await pruneSignIns(services);
  await pruneEnded(services);
  await pruneNeeds(services);
}

async function queuesInLine({ db }: Services): Promise<string[]> {
  const { jobs } = schema;
  const rows = await db
    .selectDistinct({ queue: jobs.queue })
    .from(jobs)
    .where(sql`${jobs.status} = 'pending'`);
  return rows.map((row) => row.queue);
}

/** Needs of waiting jobs that no active node offers at the moment. */
export async function readAwaitedNeeds({ db }: Pick<Services, "db">): Promise<Set<Need>> {
  const { jobs, nodes, nodeQueues } = schema;
  const result = await db.execute<{ need: Need }>(sql`
    select w.need from (select distinct need from ${jobs} where status in ('pending', 'queued')) w
    where not exists (select 1 from ${nodeQueues} q join ${nodes} n on n.id = q.node_id
      where n.state = 'active' and w.need = any(q.needs))`);
  return new Set(result.rows.map(({ need }) => need));
}

/** Whether any job is claimed or waits to be: decides how often a worker sweeps and watches. */
export async function readActivity({
  db,
}: Pick<Services, "db">): Promise<{ open: boolean; claimed: boolean }> {
  const result = await db.execute<{ open: boolean; claimed: boolean }>(sql`
    select exists (select 1 from ${schema.jobs} where status in ('pending', 'queued')) as open,
      exists (select 1 from ${schema.jobs} where status in ('waiting_for_engine', 'processing')) as claimed`);
  return result.rows[0] ?? { open: false, claimed: false };
}
