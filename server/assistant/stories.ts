import { and, asc, desc, eq, lt, type SQL, sql } from "drizzle-orm";
import { z } from "zod";
import { type QuestionStatus, schema, toPage } from "../db/index.ts";
import { AppError, isId } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { isOpen } from "./life.ts";

const { assistantRunEvents, assistantRuns, modelCalls, nodes, users } = schema;

/** A question as admins see it: what it did and cost, without a word of the talk. */
export interface QuestionSummary {
  readonly id: string;
  readonly owner: string;
  readonly status: QuestionStatus;
  readonly errorCode: string | null;
  /** ISO 8601, UTC. */
  readonly createdAt: string;
  /** Until its end, or until now. */
  readonly ms: number;
  readonly calls: number;
  readonly usd: number;
}

export interface QuestionStory extends QuestionSummary {
  readonly errorMessage: string | null;
  /** Workers that died during it. */
  readonly losses: number;
  readonly events: readonly {
    readonly status: string;
    /** Since the question. */
    readonly ms: number;
    readonly node: string | null;
    readonly errorCode: string | null;
  }[];
  readonly modelCalls: readonly {
    readonly id: string;
    readonly stage: string;
    readonly model: string;
    readonly try: number;
    readonly promptVersion: number | null;
    readonly inputTokens: number | null;
    readonly outputTokens: number | null;
    readonly usd: number;
    readonly ms: number | null;
    readonly errorClass: string | null;
  }[];
  readonly contextType: string | null;
  /** Whether rules analyzed it instead of a model. */
  readonly isByRule: boolean | null;
  readonly contextTokens: number | null;
  readonly memoryTokens: number | null;
  readonly memoriesUsed: number | null;
}

export const listQuestionsSchema = z.strictObject({
  state: z.enum(["open", "completed", "failed"]).optional(),
  /** The id of the last question of the page before. */
  cursor: z.uuid().optional(),
});

const pageSize = 20;

const summary = {
  id: assistantRuns.id,
  owner: sql<string>`coalesce(${users.email}, ${users.name})`,
  status: assistantRuns.status,
  errorCode: assistantRuns.errorCode,
  createdAt: sql<string>`to_char(${assistantRuns.createdAt} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
  ms: sql<number>`(extract(epoch from coalesce(${assistantRuns.endedAt}, clock_timestamp()) - ${assistantRuns.createdAt}) * 1000)::float8`,
  calls: sql<number>`(select count(*)::int from ${modelCalls} c where c.run_id = ${assistantRuns.id})`,
  usd: sql<number>`(select coalesce(sum(coalesce(c.cost_usd, c.expected_usd)), 0)::float8 from ${modelCalls} c where c.run_id = ${assistantRuns.id})`,
};

/** Questions of all users, newest first. */
export async function listQuestions(
  { db }: Pick<Services, "db">,
  { state, cursor }: z.infer<typeof listQuestionsSchema>,
): Promise<{ readonly items: QuestionSummary[]; readonly nextCursor: string | null }> {
  const condition = state === "open" ? isOpen : state && eq(assistantRuns.status, state);
  const rows = await db
    .select(summary)
    .from(assistantRuns)
    .innerJoin(users, eq(users.id, assistantRuns.ownerId))
    // Ids are made in the order of time.
    .where(and(condition, cursor === undefined ? undefined : lt(assistantRuns.id, cursor)))
    .orderBy(desc(assistantRuns.id))
    .limit(pageSize + 1);
  return toPage(rows, pageSize, "id");
}

/** The whole story of a question. Throws `not_found`. */
export async function readQuestionStory({ db }: Pick<Services, "db">, id: string): Promise<QuestionStory> {
  if (!isId(id)) throw new AppError("not_found");
  const since = (at: SQL) =>
    sql<number>`(extract(epoch from ${at} - ${assistantRuns.createdAt}) * 1000)::float8`;
  const [[run], events, calls] = await Promise.all([
    db
      .select({
        ...summary,
        errorMessage: assistantRuns.errorMessage,
        losses: assistantRuns.losses,
        analysis: assistantRuns.analysis,
        used: sql<number | null>`jsonb_array_length(${assistantRuns.context} -> 'used')`,
        contextTokens: sql<number | null>`(${assistantRuns.context} -> 'tokens' ->> 'total')::int`,
        memoryTokens: sql<number | null>`(${assistantRuns.context} -> 'tokens' ->> 'memory')::int`,
      })
      .from(assistantRuns)
      .innerJoin(users, eq(users.id, assistantRuns.ownerId))
      .where(eq(assistantRuns.id, id)),
    db
      .select({
        status: assistantRunEvents.status,
        ms: since(sql`${assistantRunEvents.at}`),
        node: nodes.name,
        errorCode: assistantRunEvents.errorCode,
      })
      .from(assistantRunEvents)
      .innerJoin(assistantRuns, eq(assistantRuns.id, assistantRunEvents.runId))
      .leftJoin(nodes, eq(nodes.id, assistantRunEvents.nodeId))
      .where(eq(assistantRunEvents.runId, id))
      .orderBy(asc(assistantRunEvents.revision)),
    db
      .select({
        id: modelCalls.id,
        stage: sql<string>`${modelCalls.stage}`,
        model: modelCalls.model,
        try: modelCalls.try,
        promptVersion: modelCalls.promptVersion,
        inputTokens: modelCalls.inputTokens,
        outputTokens: modelCalls.outputTokens,
        usd: sql<number>`coalesce(${modelCalls.costUsd}, ${modelCalls.expectedUsd})::float8`,
        ms: sql<
          number | null
        >`(extract(epoch from ${modelCalls.endedAt} - ${modelCalls.startedAt}) * 1000)::float8`,
        errorClass: modelCalls.errorClass,
      })
      .from(modelCalls)
      .where(eq(modelCalls.runId, id))
      .orderBy(asc(modelCalls.startedAt), asc(modelCalls.id)),
  ]);
  if (!run) throw new AppError("not_found");
  const { analysis, used, ...rest } = run;
  return {
    ...rest,
    events,
    modelCalls: calls,
    contextType: analysis?.contextType ?? null,
    isByRule: analysis?.isByRule ?? null,
    memoriesUsed: used,
  };
}
