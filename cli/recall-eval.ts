import { createReadStream } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import pino from "pino";
import { z } from "zod";
import { addSpeaker, type ForeignMessage, importTalks, recall, vectorModel } from "@atelier/server/assistant";
import { embedMissing } from "@atelier/server/assistant/stages";
import { migrate, openDatabase } from "@atelier/server/db";
import { inspectEnv, loadConfig } from "@atelier/server/platform";
import type { Services } from "@atelier/server/services";
import { openPostgres } from "../scripts/embedded/postgres.ts";

const lineSchema = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("message"),
    conversation: z.coerce.string(),
    session: z.coerce.string(),
    id: z.coerce.string(),
    at: z.coerce.date(),
    speaker: z.string(),
    text: z.string(),
  }),
  z.object({
    type: z.literal("question"),
    conversation: z.coerce.string(),
    id: z.coerce.string(),
    text: z.string(),
    evidence: z.array(z.coerce.string()),
    category: z.union([z.string(), z.number()]).nullish(),
  }),
]);

interface Question {
  readonly text: string;
  readonly evidence: readonly string[];
}

/** One conversation of the file is one user. */
interface Talk {
  readonly messages: ForeignMessage[];
  readonly questions: Question[];
}

async function readTalks(file: string): Promise<Map<string, Talk>> {
  const talks = new Map<string, Talk>();
  let number = 0;
  for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
    number += 1;
    if (line.trim() === "") continue;
    const entry = parseLine(line, number);
    const talk: Talk = talks.get(entry.conversation) ?? { messages: [], questions: [] };
    talks.set(entry.conversation, talk);
    if (entry.type === "message") talk.messages.push(entry);
    else talk.questions.push(entry);
  }
  return talks;
}

function parseLine(line: string, number: number) {
  try {
    return lineSchema.parse(JSON.parse(line));
  } catch (error) {
    const reason = error instanceof z.ZodError ? z.prettifyError(error) : "it is no JSON";
    throw new Error(`Line ${number} is not valid: ${reason}`, { cause: error });
  }
}

/** What one question brought: shares of its evidence, and the time. */
interface Outcome {
  readonly any: Readonly<Record<5 | 10 | 20, number>>;
  readonly all10: number;
  readonly sessionAny5: number;
  readonly sessionShare5: number;
  readonly sessionShare10: number;
  /** Of the best hit; 0 without any. */
  readonly score: number;
  readonly ms: number;
}

/** What the questions of one or more talks brought. */
interface Measured {
  readonly outcomes: Outcome[];
  /** Best scores of the questions that nothing in the talks answers: those with an empty list of evidence. */
  readonly absent: number[];
}

/** Enough hits for ten sessions. */
const maxHits = 100;

interface Asker {
  readonly services: EvalServices;
  readonly userId: string;
}

async function ask({ services, userId }: Asker, talk: Indexed, question: Question): Promise<Outcome> {
  const startedAt = performance.now();
  const hits = await recall(services, userId, question.text, { limit: maxHits });
  const ms = performance.now() - startedAt;
  const evidence = new Set(question.evidence);
  const found = hits.map(({ id }) => talk.foreignIds.get(id) ?? "");
  const sessions = [...new Set(found.map((id) => talk.sessions.get(id) ?? ""))];
  const wanted = new Set(question.evidence.map((id) => talk.sessions.get(id) ?? ""));
  const isAny = (count: number) => Number(found.slice(0, count).some((id) => evidence.has(id)));
  const shareOf = (count: number) =>
    sessions.slice(0, count).filter((session) => wanted.has(session)).length / wanted.size;
  return {
    any: { 5: isAny(5), 10: isAny(10), 20: isAny(20) },
    all10: Number(question.evidence.every((id) => found.slice(0, 10).includes(id))),
    sessionAny5: Number(shareOf(5) > 0),
    sessionShare5: shareOf(5),
    sessionShare10: shareOf(10),
    score: hits[0]?.score ?? 0,
    ms,
  };
}

/** With a model of embeddings the vectors of a talk are made before its first question. */
async function embedAll(services: EvalServices, count: number): Promise<void> {
  if (!vectorModel(services)) return;
  const embedded = await embedMissing(services, { signal: new AbortController().signal, isForced: true });
  if (embedded !== count) throw new Error(`Only ${embedded ?? 0} of ${count} messages could be embedded.`);
}

interface Indexed {
  /** Ids of the file by those of the database, and sessions by ids of the file. */
  readonly foreignIds: ReadonlyMap<string, string>;
  readonly sessions: ReadonlyMap<string, string>;
}

async function askAll(
  services: EvalServices,
  name: string,
  { messages, questions }: Talk,
): Promise<Measured> {
  const userId = await addSpeaker(services.db, name);
  const ids = await importTalks(services.db, userId, messages);
  await embedAll(services, messages.length);
  const indexed = {
    foreignIds: new Map([...ids].map(([foreign, own]) => [own, foreign])),
    sessions: new Map(messages.map(({ id, session }) => [id, session])),
  };
  const { outcomes, absent }: Measured = { outcomes: [], absent: [] };
  for (const question of questions) {
    if (question.evidence.length === 0) {
      const [best] = await recall(services, userId, question.text, { limit: 1 });
      absent.push(best?.score ?? 0);
      continue;
    }
    const evidence = question.evidence.filter((id) => indexed.sessions.has(id));
    // A question whose evidence the file does not have measures nothing.
    if (evidence.length > 0)
      outcomes.push(await ask({ services, userId }, indexed, { ...question, evidence }));
  }
  return { outcomes, absent };
}

/** The probability that one of the first is above one of the second; equal ones count half. */
export function areaUnder(high: readonly number[], low: readonly number[]): number {
  const won = high.flatMap((one) => low.map((other) => (one > other ? 1 : 0) + (one === other ? 0.5 : 0)));
  return won.reduce((sum, one) => sum + one, 0) / won.length;
}

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
}

const rounded = (value: number) => Math.round(value * 100) / 100;

/** How well the best score tells questions with an answer from those without. */
function describeAbstention(known: readonly number[], absent: readonly number[]) {
  return { absent: absent.length, auroc: Math.round(1_000 * areaUnder(known, absent)) / 1_000 };
}

function summarize({ outcomes, absent }: Measured) {
  const percent = (of: (outcome: Outcome) => number) =>
    rounded((100 * outcomes.reduce((sum, outcome) => sum + of(outcome), 0)) / Math.max(1, outcomes.length));
  const times = outcomes.map(({ ms }) => ms);
  const known = outcomes.map(({ score }) => score);
  return {
    questions: outcomes.length,
    message: {
      "any@5": percent(({ any }) => any[5]),
      "any@10": percent(({ any }) => any[10]),
      "any@20": percent(({ any }) => any[20]),
      "all@10": percent(({ all10 }) => all10),
    },
    session: {
      "any@5": percent(({ sessionAny5 }) => sessionAny5),
      "share@5": percent(({ sessionShare5 }) => sessionShare5),
      "share@10": percent(({ sessionShare10 }) => sessionShare10),
    },
    ...(absent.length > 0 && outcomes.length > 0 ? { abstention: describeAbstention(known, absent) } : {}),
    ms: { p50: rounded(quantile(times, 0.5)), p95: rounded(quantile(times, 0.95)) },
  };
}

type EvalServices = Pick<Services, "db" | "env" | "config" | "log">;

/** Answers the questions of a file through `recall` alone, on a database made for this and removed after it. */
async function evaluate(file: string) {
  const talks = await readTalks(file);
  const { env } = inspectEnv(process.env);
  const config = await loadConfig(env.ATELIER_CONFIG);
  const log = pino({ level: "warn" }, pino.destination({ dest: 2, sync: true }));
  const dataDir = await mkdtemp(path.join(os.tmpdir(), "atelier-recall-"));
  const postgres = await openPostgres({ dataDir });
  try {
    await migrate(postgres.url);
    const database = openDatabase({
      url: postgres.url,
      applicationName: "atelier recall-eval",
      maxConnections: 4,
      isPooled: false,
      onError: () => undefined,
    });
    try {
      const services = { db: database.db, env, config, log };
      const all: Measured = { outcomes: [], absent: [] };
      for (const [name, talk] of talks) {
        const { outcomes, absent } = await askAll(services, name, talk);
        all.outcomes.push(...outcomes);
        all.absent.push(...absent);
      }
      return { embedding: vectorModel(services)?.id ?? null, ...summarize(all) };
    } finally {
      await database.close();
    }
  } finally {
    await postgres.close();
    await rm(dataDir, { recursive: true, force: true });
  }
}

/** Prints one JSON object, or the reason on stderr. Returns the exit code. */
export async function recallEval([file]: string[]): Promise<number> {
  if (file === undefined) {
    console.error("Usage: atelier recall-eval FILE");
    return 1;
  }
  try {
    console.log(JSON.stringify(await evaluate(file), null, 2));
    return 0;
  } catch (error) {
    console.error(error instanceof Error ? error.message : String(error));
    return 1;
  }
}
