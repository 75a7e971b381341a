import { sql } from "drizzle-orm";
import { schema, type Db, type Tx } from "../db/index.ts";

/** For each workflow what the live server lacks that lacks the least for it; by the workflow's name. */
export async function readLacks(db: Db | Tx): Promise<ReadonlyMap<string, readonly string[]>> {
  const { engineServers, nodes } = schema;
  const result = await db.execute<{ name: string; lacks: string[] }>(sql`
    select distinct on (m.key) m.key as name, m.value as lacks
    from ${engineServers} s join ${nodes} n on n.id = s.node_id, jsonb_each(s.missing) m
    where n.state = 'active' and s.state in ('healthy', 'degraded')
    order by m.key, jsonb_array_length(m.value)`);
  return new Map(result.rows.map(({ name, lacks }) => [name, lacks]));
}
