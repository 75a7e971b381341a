import { sql } from "drizzle-orm";
import { schema } from "../db/index.ts";
import type { Services } from "../services/index.ts";

/** Forgets what a node could serve once but not for 24 hours: a server that was taken away under a running worker. */
export async function pruneNeeds({ db }: Pick<Services, "db">): Promise<void> {
  const { nodeQueues } = schema;
  const seenAt = sql`(${nodeQueues.needsSeenAt} ->> need)::timestamptz`;
  const isPast = sql`need <> all(${nodeQueues.needs}) and ${seenAt} < now() - interval '24 hours'`;
  await db.execute(sql`
    update ${nodeQueues} set
      seen_needs = array(select need from unnest(${nodeQueues.seenNeeds}) as s(need) where (${isPast}) is not true),
      needs_seen_at = ${nodeQueues.needsSeenAt} - array(select need from unnest(${nodeQueues.seenNeeds}) as s(need) where ${isPast})
    where exists (select 1 from unnest(${nodeQueues.seenNeeds}) as s(need) where ${isPast})`);
}
