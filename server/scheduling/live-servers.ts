import { sql } from "drizzle-orm";
import { schema, type Db, type Tx } from "../db/index.ts";
import type { Need } from "../engines/index.ts";

export interface LiveServer {
  readonly url: string;
  /** Null when the server did not say. */
  readonly vramBytes: number | null;
  readonly device: string | null;
}

/** Healthy servers of active nodes that can serve the need, each address once. */
export async function liveServers(db: Db | Tx, need: Need): Promise<LiveServer[]> {
  const { engineServers, nodes } = schema;
  const result = await db.execute<{ url: string; vramBytes: string | null; device: string | null }>(sql`
    select s.url, max(s.vram_total_bytes) as "vramBytes", max(s.device) as device
    from ${engineServers} s join ${nodes} n on n.id = s.node_id
    where n.state = 'active' and s.state = 'healthy' and ${need} = any(s.needs)
    group by s.url`);
  return result.rows.map((row) => ({
    ...row,
    vramBytes: row.vramBytes === null ? null : Number(row.vramBytes),
  }));
}
