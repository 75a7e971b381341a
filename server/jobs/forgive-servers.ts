import { sql } from "drizzle-orm";
import { schema } from "../db/index.ts";
import { servingServers } from "../scheduling/index.ts";
import type { Services } from "../services/index.ts";
import { hint } from "./hint.ts";
import { amendAll } from "./transition.ts";

/**
 * Lets jobs go back to servers that they avoid when no other one is left: whoever they waited for has gone. What
 * happens there decides again; the number of tries bounds it.
 */
export async function forgiveServers(services: Services): Promise<void> {
  const { jobs } = schema;
  const serving = sql`select 1 from ${servingServers(services.config, sql`jobs.need`)} and q.queue = jobs.queue`;
  const forgiven = await amendAll(services.db, {
    where: sql`${jobs.status} in ('pending', 'queued') and ${jobs.avoid} <> '{}'
      and exists (${serving}) and not exists (${serving} and s.url <> all(jobs.avoid))`,
    set: { avoid: [] },
    event: "servers_forgiven",
  });
  hint(services, forgiven);
}
