import { setTimeout as sleep } from "node:timers/promises";
import {
  addSpeaker,
  ask,
  type ForeignMessage,
  importTalks,
  pauseMemory,
  recall,
} from "@atelier/server/assistant";
import { embedMissing } from "@atelier/server/assistant/stages";
import { createApiKey } from "@atelier/server/accounts";
import { handleClients } from "@atelier/server/api";
import { startLlm } from "@atelier/testing/llm";
import { makeTalks } from "@atelier/testing/memory";
import { createTestServices, testOrigin } from "@atelier/testing/services";
import { startTestPostgres } from "@atelier/testing/postgres";
import type { Services } from "@atelier/server/services";
import { areaUnder } from "../cli/recall-eval.ts";
import { quantile } from "./start-and-throughput.ts";

const vocabulary = 20_000;
const wordsPerMessage = 14;
const messagesPerTalk = 25;
const questions = 200;

/** Found by words that mean the same. */
const settee = "settee";

/** A seeded generator, so that each run has the same texts. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Made-up words, the first of them common and most of them rare, as in talks of people. */
function createTalker(random: () => number) {
  const word = () => {
    const rank = Math.floor(vocabulary ** random());
    return `w${rank.toString(36)}ab`;
  };
  return (count: number) => Array.from({ length: count }, word).join(" ");
}

function makeMessages(count: number, say: (words: number) => string): ForeignMessage[] {
  const start = Date.UTC(2024, 0, 1);
  return Array.from({ length: count }, (_, at) => ({
    session: `talk ${Math.floor(at / messagesPerTalk)}`,
    id: `message ${at}`,
    at: new Date(start + at * 600_000),
    speaker: at % 2 === 0 ? "Ann" : "Ben",
    text: at === 0 ? settee : say(wordsPerMessage),
  }));
}

interface RecallBench {
  readonly services: Services;
  readonly say: (words: number) => string;
}

const sizes = [1_000, 100_000] as const;

/** Times of questions to a user with so many messages, ms. */
async function askUser({ services, say }: RecallBench, userId: string): Promise<number[]> {
  const taken: number[] = [];
  for (let number = 0; number < questions; number += 1) {
    const query = `What did Ann say about ${say(5)}?`;
    const startedAt = performance.now();
    await recall(services, userId, query, { limit: 20 });
    taken.push(performance.now() - startedAt);
  }
  return taken;
}

function linesOf(name: string, times: readonly (readonly number[])[]): string[] {
  const of = (at: number, share: number) => quantile([...(times[at] ?? [])], share);
  const lines = sizes.map(
    (count, at) =>
      `${count.toLocaleString("en")} messages, ${name}: p50 ${of(at, 0.5).toFixed(1)} ms, p95 ${of(at, 0.95).toFixed(1)} ms`,
  );
  return [...lines, `p95 of 100,000 to p95 of 1,000, ${name}: ${(of(1, 0.95) / of(0, 0.95)).toFixed(2)}`];
}

/**
 * M3: the time of `recall` for a user with few and with many messages, beside another user with as many: by words, and
 * with vectors of the simulated model, whose answer is part of the time; compared by the process and by pgvector.
 */
export async function benchRecall(): Promise<string[]> {
  const postgres = await startTestPostgres({ hasPgvector: true });
  const llm = await startLlm();
  const fixture = await createTestServices({ env: llm.env });
  const { services } = fixture;
  const say = createTalker(createRandom(7));
  const bench = { services, say };
  try {
    const other = await addSpeaker(services.db, "other");
    await importTalks(services.db, other, makeMessages(100_000, say));
    // Whose vectors would only take time to be made: each user has a table of its own.
    await pauseMemory(services, { userId: other, isPaused: true });
    const users: string[] = [];
    const byWords: number[][] = [];
    for (const count of sizes) {
      const userId = await addSpeaker(services.db, `user of ${count}`);
      users.push(userId);
      await importTalks(services.db, userId, makeMessages(count, say));
      byWords.push(await askUser(bench, userId));
    }
    const lines = linesOf("by words", byWords);
    lines.push(...(await benchVectors(bench, { users, dimensions: 384, hasPgvector: true })));
    lines.push(...(await benchVectors(bench, { users, dimensions: 768, hasPgvector: false })));
    return lines;
  } finally {
    await fixture.close();
    await llm.close();
    await postgres.stop();
  }
}

interface VectorBench {
  readonly users: readonly string[];
  readonly dimensions: number;
  readonly hasPgvector: boolean;
}

/** The same users with vectors of so many dimensions. */
async function benchVectors(
  { services, say }: RecallBench,
  { users, dimensions, hasPgvector }: VectorBench,
): Promise<string[]> {
  const near = withEmbedding(services, { dimensions });
  const startedAt = performance.now();
  const made = await embedAll(near);
  const perSecond = ((made ?? 0) * 1_000) / (performance.now() - startedAt);
  const lines = [`${made} vectors of ${dimensions} dimensions made, ${perSecond.toFixed(0)} a second`];
  const times: number[][] = [];
  for (const userId of users) {
    const readAt = performance.now();
    // The first search does not wait for all vectors of a large user.
    while (!(await isFoundByMeaning(near, userId))) await sleep(50);
    lines.push(`found by meaning after ${(performance.now() - readAt).toFixed(0)} ms`);
    times.push(await askUser({ services: near, say }, userId));
  }
  lines.push(...linesOf(`${dimensions} dimensions`, times));
  return hasPgvector ? [...lines, ...(await benchPgvector({ services: near, say }, users))] : lines;
}

function withEmbedding(
  { config, env, ...services }: Services,
  changes: Partial<Services["config"]["assistant"]["embedding"]>,
): Services {
  const embedding = { ...config.assistant.embedding, ...changes };
  return {
    ...services,
    env: { ...env, LLM_EMBEDDING_MODEL: "local/simulated" },
    config: { ...config, assistant: { ...config.assistant, embedding } },
  };
}

const embedAll = (services: Services) =>
  embedMissing(services, { signal: new AbortController().signal, isForced: true });

/** The same questions where no vectors fit into the memory of the process, so that the database compares them. */
async function benchPgvector({ services, say }: RecallBench, users: readonly string[]): Promise<string[]> {
  const near = withEmbedding(services, { cacheMb: 0.01 });
  const startedAt = performance.now();
  const times: number[][] = [];
  for (const userId of users) {
    // Each round copies for some seconds only.
    while (!(await isFoundByMeaning(near, userId))) await embedAll(near);
    times.push(await askUser({ services: near, say }, userId));
  }
  const seconds = (performance.now() - startedAt) / 1_000;
  return [`copied for pgvector and asked in ${seconds.toFixed(0)} s`, ...linesOf("pgvector", times)];
}

async function isFoundByMeaning(services: Services, userId: string): Promise<boolean> {
  const [hit] = await recall(services, userId, "couch", { limit: 1 });
  return hit?.text === settee;
}

const asked = 300;

/** B1: how long a question takes to be accepted, each in a conversation of its own: the function, and POST /api/query. */
export async function benchAsk(): Promise<string[]> {
  const postgres = await startTestPostgres();
  const fixture = await createTestServices({
    config: { assistant: { openRuns: asked * 3 }, limits: { apiKeyPerMinute: asked * 2 } },
  });
  const { services } = fixture;
  const [called, posted]: [number[], number[]] = [[], []];
  try {
    const ownerId = await addSpeaker(services.db, "one who asks");
    const { key } = await createApiKey(services, { userId: ownerId, name: "bench" });
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const ways: readonly [number[], (text: string) => Promise<unknown>][] = [
      [called, (text) => ask(services, { ownerId, text })],
      [posted, (text) => post(services, headers, text)],
    ];
    for (let number = 0; number < asked; number += 1)
      for (const [taken, way] of ways) {
        const startedAt = performance.now();
        await way(`Question ${number}: what do I like?`);
        taken.push(performance.now() - startedAt);
      }
  } finally {
    await fixture.close();
    await postgres.stop();
  }
  const line = (name: string, taken: number[]) =>
    `${name}: p50 ${quantile(taken, 0.5).toFixed(1)} ms, p95 ${quantile(taken, 0.95).toFixed(1)} ms (bound 25)`;
  return [line("ask", called), line("POST /api/query", posted)];
}

async function post(services: Services, headers: Record<string, string>, query: string): Promise<void> {
  const init = { method: "POST", headers, body: JSON.stringify({ query }) };
  const response = await handleClients(services, new Request(`${testOrigin}/api/query`, init));
  if (response.status !== 202) throw new Error(`POST /api/query answered ${response.status}`);
  await response.text();
}

const sets = 10;
const talksOfUser = 150;

/** M2, M4: facts that change, in talks made by code: how often the current statement is first, and what tells absent facts apart. */
export async function benchOwnSet(): Promise<string[]> {
  const postgres = await startTestPostgres();
  const fixture = await createTestServices();
  const { services } = fixture;
  const ranks: number[] = [];
  const scores: { readonly known: number[]; readonly absent: number[] } = { known: [], absent: [] };
  try {
    for (let seed = 1; seed <= sets; seed += 1) {
      const userId = await addSpeaker(services.db, `user ${seed}`);
      const { messages, facts, absent } = makeTalks({ seed, talks: talksOfUser });
      await importTalks(services.db, userId, messages);
      const find = (query: string) => recall(services, userId, query, { limit: 10 });
      for (const { question, value } of facts) {
        const hits = await find(question);
        ranks.push(hits.findIndex(({ text }) => text.includes(value)));
        scores.known.push(hits[0]?.score ?? 0);
      }
      for (const question of absent) scores.absent.push((await find(question))[0]?.score ?? 0);
    }
  } finally {
    await fixture.close();
    await postgres.stop();
  }
  const within = (limit: number) => ranks.filter((rank) => rank >= 0 && rank < limit).length / ranks.length;
  const percent = (share: number) => `${(share * 100).toFixed(1)} %`;
  return [
    `${sets} users with ${talksOfUser} talks, ${ranks.length} questions about facts of which most changed`,
    `current statement first: ${percent(within(1))} (goal 99), among five: ${percent(within(5))}, among ten: ${percent(within(10))}`,
    `best score of a known fact above that of an absent one: AUROC ${areaUnder(scores.known, scores.absent).toFixed(3)} (goal 0.85)`,
  ];
}
