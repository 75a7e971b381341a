import { and, desc, eq, inArray, ne } from "drizzle-orm";
import { z } from "zod";
import { type QuestionAnalysis, schema } from "../../db/index.ts";
import type { Services } from "../../services.ts";
import { stageModel } from "../models.ts";
import { readPrompt } from "../prompts.ts";
import { recall } from "../recall/recall.ts";
import type { QuestionRow } from "../life.ts";
import { todayIn } from "../../platform/days.ts";
import { isMemoryPaused, readTimeZone } from "../settings.ts";
import { askForJson, type PromptedCall } from "./ask-json.ts";
import type { CallResult, CallServices } from "./calls.ts";
import { ModelError } from "./model-errors.ts";

const { assistantMessages, memories } = schema;

/** What the model answers: few keywords of JSON Schema, since vendors refuse many. What makes no sense is dropped later. */
const analysisSchema = z.object({
  needsContext: z.boolean(),
  contextType: z.enum(["none", "memory", "gallery", "both"]),
  timeScope: z.object({ from: z.string().nullable(), to: z.string().nullable() }).nullable(),
  searchKeywords: z.array(z.string()),
  contextFound: z.array(z.string()),
});

/** Summaries that the model looks through: those that fit the question best, and the newest. */
const fittingSummaries = 8;
const newestSummaries = 4;
const turnsBefore = 6;
const triesToParse = 2;
/** A question does not wait long for a help that it can do without. */
const triesToReach = 2;

/**
 * Finds out what a question needs: which memories, which period, which words to search for. An answer that cannot be read
 * is asked for once more; then, without a model, and when the model fails or is late, rules decide: the responder tells the
 * user what is wrong. Throws `ModelError` for a cap of spending.
 */
export async function analyze(
  services: Services,
  run: QuestionRow,
  signal: AbortSignal,
): Promise<QuestionAnalysis> {
  const { text: question } = await readQuestion(services, run.questionId);
  const model = stageModel(services, "analyzer");
  if (!model) return analyzeByRule(question);
  const turns = await readTurns(services, run, turnsBefore);
  const [material, prompt] = await Promise.all([
    collectMaterial(services, { runId: run.id, ownerId: run.ownerId, question, turns, signal }),
    readPrompt(services, "analyzer"),
  ]);
  const call = {
    runId: run.id,
    ownerId: run.ownerId,
    stage: "analyzer",
    model,
    promptVersion: prompt.version,
    tries: triesToReach,
  } as const;
  for (let left = triesToParse; left > 0; left -= 1) {
    try {
      return (await askAnalyzer(services, { call, text: prompt.text, signal }, material)).value;
    } catch (error) {
      if (!(error instanceof ModelError) || error.class === "over_budget") throw error;
      services.log.warn({ err: error, runId: run.id, left: left - 1 }, "there is no analysis of a question");
      if (error.class !== "invalid_output") break;
    }
  }
  return analyzeByRule(question);
}

interface Turn {
  readonly role: "user" | "assistant";
  readonly text: string;
}

export interface AskedQuestion {
  /** Null: it is not stored. */
  readonly runId: string | null;
  readonly ownerId: string;
  readonly question: string;
  /** Of the talk before the question, oldest first. */
  readonly turns: readonly Turn[];
  readonly signal: AbortSignal;
}

interface AnalyzerMaterial {
  readonly turns: readonly Turn[];
  readonly summaries: Awaited<ReturnType<typeof readSummaries>>;
  readonly question: string;
}

/** What the analyzer looks at: the question, the last turns before it, and summaries of the owner's memory. */
export async function collectMaterial(services: Services, asked: AskedQuestion): Promise<AnalyzerMaterial> {
  const { question, turns } = asked;
  const last = turns.slice(-turnsBefore).map(({ role, text }) => ({ role, text: text.slice(0, 500) }));
  return { turns: last, summaries: await readSummaries(services, asked), question };
}

/** Asks the model for an analysis. Throws `ModelError`, `invalid_output` for an answer that cannot be read. */
export async function askAnalyzer(
  services: CallServices,
  prompted: PromptedCall,
  material: AnalyzerMaterial,
): Promise<CallResult<QuestionAnalysis>> {
  const timeZone = await readTimeZone(services, prompted.call.ownerId);
  const text = prompted.text.replaceAll("{today}", todayIn(timeZone));
  const form = { schema: analysisSchema, material };
  const { value, usage } = await askForJson(services, { ...prompted, text }, form);
  return { value: sensible(value, new Set(material.summaries.map(({ id }) => id))), usage };
}

const day = z.iso.date();
const maxKeywords = 12;
const maxKeywordLength = 100;

/** Leaves out days that are none, ids that were not shown and words beyond any use. */
function sensible(analysis: z.infer<typeof analysisSchema>, shown: ReadonlySet<string>): QuestionAnalysis {
  const { timeScope, searchKeywords, contextFound } = analysis;
  const dayOf = (text: string | null | undefined) => day.safeParse(text?.slice(0, 10)).data ?? null;
  return {
    ...analysis,
    timeScope: timeScope && { from: dayOf(timeScope.from), to: dayOf(timeScope.to) },
    searchKeywords: searchKeywords.filter((word) => word.length <= maxKeywordLength).slice(0, maxKeywords),
    contextFound: contextFound.filter((id) => shown.has(id)),
    isByRule: false,
  };
}

/** A message with the pictures that were given with it. */
export interface SaidTurn
  extends Turn, Pick<typeof assistantMessages.$inferSelect, "imageIds" | "imagesTo"> {}

const { role, text, imageIds, imagesTo } = assistantMessages;
const saidColumns = { role, text, imageIds, imagesTo };

/** A question as it was asked. */
export async function readQuestion({ db }: Services, id: string): Promise<SaidTurn> {
  const [message] = await db.select(saidColumns).from(assistantMessages).where(eq(assistantMessages.id, id));
  return message ?? { role: "user", text: "", imageIds: [], imagesTo: null };
}

/** The last turns of the conversation before the question, oldest first. */
export async function readTurns({ db }: Services, run: QuestionRow, most: number): Promise<SaidTurn[]> {
  const rows = await db
    .select(saidColumns)
    .from(assistantMessages)
    .where(
      and(eq(assistantMessages.conversationId, run.conversationId), ne(assistantMessages.id, run.questionId)),
    )
    .orderBy(desc(assistantMessages.at), desc(assistantMessages.id))
    .limit(most);
  return rows.toReversed();
}

async function readSummaries(
  services: Services,
  { runId, ownerId, question, signal }: Omit<AskedQuestion, "turns">,
) {
  if (await isMemoryPaused(services, ownerId)) return [];
  const fitting = await recall(services, ownerId, question, {
    limit: fittingSummaries * 3,
    runId,
    signal,
  });
  const ids = fitting.filter(({ kind }) => kind === "memory").map(({ id }) => id);
  const columns = {
    id: memories.id,
    summary: memories.summary,
    tags: memories.tags,
    from: memories.periodStart,
    to: memories.periodEnd,
  };
  const own = eq(memories.ownerId, ownerId);
  const [found, newest] = await Promise.all([
    ids.length > 0
      ? services.db
          .select(columns)
          .from(memories)
          .where(and(own, inArray(memories.id, ids.slice(0, fittingSummaries))))
      : [],
    services.db
      .select(columns)
      .from(memories)
      .where(own)
      .orderBy(desc(memories.periodEnd))
      .limit(newestSummaries),
  ]);
  const byId = new Map([...found, ...newest].map((memory) => [memory.id, memory]));
  return [...byId.values()].map(({ from, to, ...memory }) => ({
    ...memory,
    from: from.toISOString(),
    to: to.toISOString(),
  }));
}

/** Without a model everything is searched with the words of the question; `recall` weighs them. */
export function analyzeByRule(question: string): QuestionAnalysis {
  const words = question.match(/[\p{L}\p{N}][\p{L}\p{N}'-]+/gu) ?? [];
  const searchKeywords = [...new Set(words.map((word) => word.toLowerCase()))].slice(0, 12);
  return {
    needsContext: true,
    contextType: "both",
    timeScope: null,
    searchKeywords,
    contextFound: [],
    isByRule: true,
  };
}
