import { sql } from "drizzle-orm";
import { schema, type Db } from "../db/index.ts";
import type { EngineName, Need } from "../engines/index.ts";

/** One past run. */
interface PastRun {
  readonly ms: number;
  readonly sizeClass: number;
}

/** What runs of a need took, in ms, from its last completed ones. */
export interface RunCost {
  readonly meanMs: number;
  readonly varianceMs2: number;
  /** The last ones, the newest first. */
  readonly runs: readonly PastRun[];
}

export type RunCosts = (need: string) => RunCost;

interface Read {
  readonly readAtMs: number;
  readonly cost: RunCost;
}

/** Expectations need not be newer than that, and a crowd of submits reads them once. */
const believedForMs = 2_000;
const keptRuns = 200;
const recentRuns = 50;
/** What is assumed of a need that has no past runs. */
const assumedRunMs: Record<EngineName, number> = { comfyui: 30_000, iopaint: 10_000, local: 10_000 };

const costsByDb = new WeakMap<Db, Map<string, Read>>();

/** What runs of these needs take, as known up to two seconds ago. Not for use inside a transaction: it takes a connection. */
export async function readRunCosts(db: Db, needs: readonly string[]): Promise<RunCosts> {
  const known = costsByDb.get(db) ?? new Map<string, Read>();
  costsByDb.set(db, known);
  const now = performance.now();
  const wanted = [...new Set(needs)];
  const missing = wanted.filter((need) => now - (known.get(need)?.readAtMs ?? -Infinity) > believedForMs);
  if (missing.length > 0) {
    const runs = await readRuns(db, missing);
    for (const need of missing) known.set(need, { readAtMs: now, cost: costOf(need, runs.get(need) ?? []) });
  }
  return (need) => known.get(need)?.cost ?? costOf(need, []);
}

async function readRuns(db: Db, needs: readonly string[]): Promise<Map<string, PastRun[]>> {
  const { jobs } = schema;
  const list = sql.join(
    needs.map((need) => sql`${need}`),
    sql`, `,
  );
  const result = await db.execute<{ need: Need; ms: number; sizeClass: number }>(sql`
    select wanted.need, run.ms, run.size_class as "sizeClass"
    from unnest(array[${list}]::text[]) as wanted(need) cross join lateral (
      select (extract(epoch from p.ended_at - p.started_at) * 1000)::float8 as ms, p.size_class from ${jobs} p
      where p.need = wanted.need and p.status = 'completed' order by p.ended_at desc limit ${keptRuns}
    ) run`);
  const runs = new Map<string, PastRun[]>();
  for (const { need, ms, sizeClass } of result.rows) {
    const own = runs.get(need) ?? [];
    own.push({ ms, sizeClass });
    runs.set(need, own);
  }
  return runs;
}

function costOf(need: string, runs: readonly PastRun[]): RunCost {
  const recent = runs.slice(0, recentRuns).map(({ ms }) => ms);
  // Safe: a need starts with the name of its engine.
  const assumedMs = assumedRunMs[need.split("/")[0] as EngineName];
  if (recent.length === 0) return { meanMs: assumedMs, varianceMs2: (assumedMs / 2) ** 2, runs };
  const meanMs = recent.reduce((sum, ms) => sum + ms, 0) / recent.length;
  if (recent.length === 1) return { meanMs, varianceMs2: (meanMs / 2) ** 2, runs };
  const squares = recent.reduce((sum, ms) => sum + (ms - meanMs) ** 2, 0);
  return { meanMs, varianceMs2: squares / (recent.length - 1), runs };
}
