import { and, eq, inArray } from "drizzle-orm";
import { type QuestionAnalysis, type QuestionContext, schema } from "../../db/index.ts";
import type { Services } from "../../services.ts";
import { type Prompt, readPrompt } from "../prompts.ts";
import { recall, type RecallHit, type RecallOptions } from "../recall/recall.ts";
import type { QuestionRow } from "../life.ts";
import { dayOf, periodOf, todayIn } from "../../platform/days.ts";
import { isMemoryPaused, readTimeZone } from "../settings.ts";
import { readQuestion, readTurns, type SaidTurn } from "./analyze.ts";
import { talkWithPictures, type Showing } from "./given-pictures.ts";
import { type CountTokens, cutToTokens, loadTokenCounter } from "./tokens.ts";

const { memories } = schema;

const maxHits = 12;
const maxTurns = 40;

interface AssembleOptions extends Showing {
  /** Of the tokens that it may have; 1 without. */
  readonly share?: number;
}

/** Builds what the responder is given for a question, within a share of the tokens that it may have. */
export async function assemble(
  services: Services,
  run: QuestionRow,
  { share = 1, shows = "all" }: AssembleOptions = {},
): Promise<QuestionContext> {
  const [responder, assembler, said, timeZone] = await Promise.all([
    readPrompt(services, "responder"),
    readPrompt(services, "assembler"),
    readTalk(services, run),
    readTimeZone(services, run.ownerId),
  ]);
  const { ownerId, conversationId, analysis } = run;
  const question = said.at(-1)?.text ?? "";
  const { turns, pictures } = await talkWithPictures(services, said, { ownerId, shows });
  const hits = await findMemory(services, { runId: run.id, ownerId, conversationId, question, analysis });
  const material = { turns, hits, timeZone, share };
  const { context } = await buildContext(services, { responder, assembler }, material);
  return pictures === null ? context : { ...context, pictures };
}

export interface BuiltContext {
  readonly context: QuestionContext;
  /** What the prompt of the assembler became in its instructions; "" when nothing is remembered, which leaves it out. */
  readonly intro: string;
}

interface ContextMaterial {
  /** Of the talk, oldest first; the last one is the question. */
  readonly turns: QuestionContext["messages"];
  /** What the memory has about it, best first. */
  readonly hits: readonly RecallHit[];
  readonly timeZone: string;
  /** Of the tokens that are set; 1 without. */
  readonly share?: number;
}

/**
 * Puts together the instructions, what is remembered with its period, the turns of the talk and the question. To keep the
 * budget of tokens memory is left out and cut first, then old turns; the question never.
 */
export async function buildContext(
  { config }: Pick<Services, "config">,
  {
    responder,
    assembler,
  }: { readonly responder: Pick<Prompt, "text">; readonly assembler: Pick<Prompt, "text"> },
  { turns, hits, timeZone, share = 1 }: ContextMaterial,
): Promise<BuiltContext> {
  const contextTokens = Math.floor(config.assistant.contextTokens * share);
  const memoryTokens = Math.floor(config.assistant.memoryTokens * share);
  const count = await loadTokenCounter();
  const instructions = responder.text.replaceAll("{today}", todayIn(timeZone));
  const question = turns.at(-1) ?? { role: "user" as const, content: "" };
  const fixed = count(instructions) + count(question.content);
  const memory = fitMemory(count, hits, {
    maxTokens: Math.min(memoryTokens, contextTokens - fixed),
    timeZone,
  });
  const intro = memory.text === "" ? "" : assembler.text.replace("{memory}", () => memory.text);
  const introTokens = intro === "" ? 0 : count(intro);
  const history = fitTurns(count, turns.slice(0, -1), contextTokens - fixed - introTokens);
  const messages = [...history.turns, question];
  const context = {
    instructions: intro === "" ? instructions : `${instructions}\n\n${intro}`,
    messages,
    used: memory.used,
    tokens: { total: fixed + introTokens + history.tokens, memory: introTokens },
    isCut: memory.isCut || history.isCut,
  };
  return { context, intro };
}

interface Looked extends Pick<RecallOptions, "runId"> {
  readonly ownerId: string;
  /** Whose turns are not looked for: the context has them already. Null when they are not stored. */
  readonly conversationId: string | null;
  readonly question: string;
  readonly analysis: QuestionAnalysis | null;
  readonly signal?: AbortSignal;
}

/** What the memory has: summaries that the analyzer chose, then what `recall` finds for its words. */
export async function findMemory(services: Services, looked: Looked): Promise<RecallHit[]> {
  const { runId = null, ownerId, conversationId, question, analysis, signal } = looked;
  if (!analysis?.needsContext || analysis.contextType === "none") return [];
  if (await isMemoryPaused(services, ownerId)) return [];
  const query = [question, ...(analysis.isByRule ? [] : analysis.searchKeywords)].join(" ");
  const { timeScope } = analysis;
  const period = timeScope && periodOf(await readTimeZone(services, ownerId), timeScope);
  const options = { limit: maxHits * 2, period, runId, ...(signal ? { signal } : {}) };
  const [chosen, found] = await Promise.all([
    readChosen(services, ownerId, analysis),
    recall(services, ownerId, query, options),
  ]);
  const known = new Set(chosen.map(({ id }) => id));
  // What a user wrote into the memory is of no conversation, too.
  const isHere = (hit: RecallHit) => conversationId !== null && hit.conversationId === conversationId;
  const others = found.filter((hit) => !isHere(hit) && !known.has(hit.id));
  return [...chosen, ...others].slice(0, maxHits);
}

async function readChosen(
  { db }: Services,
  ownerId: string,
  { contextFound }: QuestionAnalysis,
): Promise<RecallHit[]> {
  const ids = [...contextFound];
  if (ids.length === 0) return [];
  const rows = await db
    .select()
    .from(memories)
    .where(and(eq(memories.ownerId, ownerId), inArray(memories.id, ids)));
  return rows.map(({ id, conversationId, summary, periodStart, periodEnd }) => ({
    kind: "memory",
    id,
    conversationId,
    text: summary,
    from: periodStart,
    to: periodEnd,
    score: 1,
  }));
}

/** The talk up to the question, oldest first. */
async function readTalk(services: Services, run: QuestionRow): Promise<SaidTurn[]> {
  const [before, question] = await Promise.all([
    readTurns(services, run, maxTurns),
    readQuestion(services, run.questionId),
  ]);
  return [...before, question];
}

interface FittedMemory {
  readonly text: string;
  readonly used: QuestionContext["used"];
  readonly isCut: boolean;
}

/** The best hits that fit, the last of them cut; in the order of their times. */
export function fitMemory(
  count: CountTokens,
  hits: readonly RecallHit[],
  { maxTokens, timeZone }: { readonly maxTokens: number; readonly timeZone: string },
): FittedMemory {
  const lineOf = (hit: RecallHit) => memoryLine(hit, timeZone);
  const taken: { readonly hit: RecallHit; readonly line: string }[] = [];
  let left = maxTokens;
  for (const hit of hits) {
    const line = cutToTokens(count, lineOf(hit), left);
    if (line === "") break;
    taken.push({ hit, line });
    left -= count(line) + 1;
  }
  const inTime = taken.toSorted((a, b) => a.hit.to.getTime() - b.hit.to.getTime());
  return {
    text: inTime.map(({ line }) => line).join("\n"),
    used: inTime.map(({ hit: { kind, id, score } }) => ({ kind, id, score })),
    isCut: taken.length < hits.length || taken.some(({ hit, line }) => line !== lineOf(hit)),
  };
}

function memoryLine({ from, to, text }: RecallHit, timeZone: string): string {
  const [first, last] = [from, to].map((time) => dayOf(timeZone, time));
  return `- [${first === last ? first : `${first} to ${last}`}] ${text.replaceAll(/\s+/g, " ").trim()}`;
}

/** The newest turns that fit, oldest first; a talk is never begun with words of the assistant. */
function fitTurns(count: CountTokens, turns: QuestionContext["messages"], maxTokens: number) {
  const kept: QuestionContext["messages"][number][] = [];
  let tokens = 0;
  for (const turn of turns.toReversed()) {
    const more = count(turn.content);
    if (tokens + more > maxTokens) break;
    kept.unshift(turn);
    tokens += more;
  }
  while (kept[0]?.role === "assistant") tokens -= count(kept.shift()?.content ?? "");
  return { turns: kept, tokens, isCut: kept.length < turns.length };
}
