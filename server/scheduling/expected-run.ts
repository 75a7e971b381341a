import { sql, type SQL } from "drizzle-orm";
import { schema } from "../db/index.ts";
import type { EngineName } from "../engines/index.ts";

/** What is assumed of a need that has no past runs, in ms. */
const assumedRunMs: Record<EngineName, number> = { comfyui: 30_000, iopaint: 10_000, local: 10_000 };
const recentRuns = 20;

/** Mean run time in ms of a need's last completed runs, as SQL over the need's text. */
export function expectedRunMs(need: SQL): SQL {
  const { jobs } = schema;
  const assumed = sql`case split_part(${need}, '/', 1) when 'comfyui' then ${assumedRunMs.comfyui}::float8 else ${assumedRunMs.local}::float8 end`;
  return sql`coalesce((
    select avg(extract(epoch from last.ended_at - last.started_at) * 1000) from (
      select p.ended_at, p.started_at from ${jobs} p
      where p.need = ${need} and p.status = 'completed' order by p.ended_at desc limit ${recentRuns}
    ) last), ${assumed})`;
}
