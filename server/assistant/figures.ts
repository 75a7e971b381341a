import { type SQL, sql } from "drizzle-orm";
import { type Db, schema } from "../db/index.ts";
import type { Services } from "../services.ts";
import { countDescriptions, type DescriptionCounts } from "../images/index.ts";
import { readTurnFigures, type TurnFigures } from "../leases/index.ts";
import { isOpen } from "./life.ts";
import { describerTurn, visionModel } from "./models.ts";

const { assistantMessages, assistantRunEvents, assistantRuns, memories, modelCalls } = schema;

/** Times of one stage in a period, ms; null without a question. */
export interface StageFigures {
  readonly stage: "start" | "analyzer" | "assembler" | "responder" | "whole";
  readonly runs: number;
  readonly p50Ms: number | null;
  readonly p95Ms: number | null;
  readonly budgetMs: number;
  /** The slow half of a hundred is above the budget. */
  readonly isOverBudget: boolean;
}

/** Calls of the models by stage and model. */
interface CallFigures {
  readonly stage: string;
  readonly model: string;
  readonly calls: number;
  readonly retries: number;
  readonly rateLimited: number;
  readonly timeouts: number;
  /** Without those that their user or admin stopped. */
  readonly failures: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly usd: number;
}

export interface AssistantFigures {
  readonly stages: readonly StageFigures[];
  readonly calls: readonly CallFigures[];
  readonly backlog: number;
  readonly completed: number;
  readonly failed: number;
  readonly perMinute: number;
  /** 0..1 of the completed runs. */
  readonly withContext: number | null;
  readonly meanContextTokens: number | null;
  readonly rows: { readonly runs: number; readonly messages: number; readonly memories: number };
}

/** Time budgets of the stages: until a worker has taken a question, its stages, and the whole way. */
const budgetsMs = {
  start: 10,
  analyzer: 3_000,
  assembler: 500,
  responder: 10_000,
  whole: 10_000,
} as const;

/** From which status to which a stage lasts. */
const spans = {
  start: ["new", "analyzing"],
  analyzer: ["analyzing", "analyzed"],
  assembler: ["assembling", "ready"],
  responder: ["responding", "completed"],
  whole: ["new", "completed"],
} as const;

/** The times of all stages in one statement. */
async function readStages(db: Db, since: SQL): Promise<StageFigures[]> {
  const stages = Object.keys(spans) as (keyof typeof spans)[];
  const lines = stages.map(
    (stage) => sql`(${stage}::text, ${spans[stage][0]}::text, ${spans[stage][1]}::text)`,
  );
  const rows = await db.execute<{
    stage: string;
    runs: number;
    p50Ms: number | null;
    p95Ms: number | null;
  }>(sql`
    select span.stage, count(times.ms)::int as runs, percentile_cont(0.5) within group (order by times.ms) as "p50Ms",
      percentile_cont(0.95) within group (order by times.ms) as "p95Ms"
    from (values ${sql.join(lines, sql`, `)}) span (stage, begins, ends)
    left join lateral (
      select (extract(epoch from min(ended.at) - max(begun.at)) * 1000)::float8 as ms
      from ${assistantRunEvents} ended
      join ${assistantRunEvents} begun on begun.run_id = ended.run_id and begun.status = span.begins and begun.revision < ended.revision
      where ended.status = span.ends and ended.at > ${since} group by ended.run_id
    ) times on true
    group by span.stage`);
  return stages.map((stage): StageFigures => {
    const { runs = 0, p50Ms = null, p95Ms = null } = rows.find((row) => row.stage === stage) ?? {};
    const budgetMs = budgetsMs[stage];
    return { stage, runs, p50Ms, p95Ms, budgetMs, isOverBudget: p95Ms !== null && p95Ms > budgetMs };
  });
}

/** The work of the assistant in the last hours. */
export async function readFigures(
  { db }: Pick<Services, "db">,
  { hours }: { readonly hours: number },
): Promise<AssistantFigures> {
  const since = sql`clock_timestamp() - ${hours} * interval '1 hour'`;
  const [stages, calls, totals] = await Promise.all([
    readStages(db, since),
    db.execute<CallFigures & Record<string, unknown>>(sql`
      select stage, model, count(*)::int as calls, count(*) filter (where try > 1)::int as retries,
        count(*) filter (where error_class = 'rate_limited')::int as "rateLimited",
        count(*) filter (where error_class = 'timeout')::int as timeouts,
        count(*) filter (where error_class <> 'cancelled')::int as failures,
        coalesce(sum(input_tokens), 0)::int as "inputTokens", coalesce(sum(output_tokens), 0)::int as "outputTokens",
        coalesce(sum(coalesce(cost_usd, expected_usd)), 0)::float8 as usd
      from ${modelCalls} where started_at > ${since} group by stage, model order by stage, model`),
    db.execute<Record<string, number | null>>(sql`
      select count(*) filter (where ${isOpen})::int as backlog,
        count(*) filter (where status = 'completed' and ended_at > ${since})::int as completed,
        count(*) filter (where status = 'failed' and ended_at > ${since})::int as failed,
        (avg((jsonb_array_length(context -> 'used') > 0)::int) filter (where status = 'completed' and ended_at > ${since}))::float8 as "withContext",
        (avg((context -> 'tokens' ->> 'total')::float8) filter (where ended_at > ${since}))::float8 as "meanContextTokens",
        count(*)::int as runs, (select count(*)::int from ${assistantMessages}) as messages,
        (select count(*)::int from ${memories}) as memories
      from ${assistantRuns}`),
  ]);
  const [row = {}] = totals;
  const of = (name: string) => row[name] ?? 0;
  return {
    stages,
    calls: [...calls],
    backlog: of("backlog"),
    completed: of("completed"),
    failed: of("failed"),
    perMinute: (of("completed") + of("failed")) / (hours * 60),
    withContext: row["withContext"] ?? null,
    meanContextTokens: row["meanContextTokens"] ?? null,
    rows: { runs: of("runs"), messages: of("messages"), memories: of("memories") },
  };
}

/** The descriptions of pictures by a model, of all users. */
export interface DescriptionFigures extends DescriptionCounts {
  readonly model: string;
  /** The last failure of the model, be it over or not; null without one. */
  readonly failure: (Pick<TurnFigures, "failures" | "failedAgeMs"> & { readonly reason: string }) | null;
}

/** Null in a studio without a model that describes pictures. */
export async function readDescriptionFigures(
  services: Pick<Services, "db" | "env" | "config">,
): Promise<DescriptionFigures | null> {
  const model = visionModel(services);
  if (model === null) return null;
  const [counts, turns] = await Promise.all([
    countDescriptions(services.db, model.id),
    readTurnFigures(services),
  ]);
  const turn = turns.find(({ name }) => name === describerTurn);
  const { error = null, failures = 0, failedAgeMs = null } = turn ?? {};
  return {
    ...counts,
    model: model.id,
    failure: error === null ? null : { reason: error, failures, failedAgeMs },
  };
}
