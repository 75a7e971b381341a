import { addSpeaker, ask, type ForeignMessage, importTalks, recall } from "@atelier/server/assistant";
import { createApiKey } from "@atelier/server/accounts";
import { handleClients } from "@atelier/server/api";
import { createTestServices, testOrigin } from "@atelier/testing/services";
import { startTestPostgres } from "@atelier/testing/postgres";
import type { Services } from "@atelier/server/services";
import { quantile } from "./start-and-throughput.ts";

const vocabulary = 20_000;
const wordsPerMessage = 14;
const messagesPerTalk = 25;
const questions = 200;

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
    text: say(wordsPerMessage),
  }));
}

/** M3: the time of `recall` for a user with few and with many messages, beside another user with as many. */
export async function benchRecall(): Promise<string[]> {
  const postgres = await startTestPostgres();
  const fixture = await createTestServices();
  const { services } = fixture;
  const random = createRandom(7);
  const say = createTalker(random);
  const times: Record<number, readonly number[]> = {};
  try {
    const other = await addSpeaker(services.db, "other");
    await importTalks(services.db, other, makeMessages(100_000, say));
    for (const count of [1_000, 100_000]) {
      const userId = await addSpeaker(services.db, `user of ${count}`);
      await importTalks(services.db, userId, makeMessages(count, say));
      const taken: number[] = [];
      for (let number = 0; number < questions; number += 1) {
        const query = `What did Ann say about ${say(5)}?`;
        const startedAt = performance.now();
        await recall(services, userId, query, { limit: 20 });
        taken.push(performance.now() - startedAt);
      }
      times[count] = taken;
    }
  } finally {
    await fixture.close();
    await postgres.stop();
  }
  const of = (count: number, share: number) => quantile(times[count] ?? [], share);
  const line = (count: number) =>
    `${count.toLocaleString("en")} messages: p50 ${of(count, 0.5).toFixed(1)} ms, p95 ${of(count, 0.95).toFixed(1)} ms`;
  const ratio = of(100_000, 0.95) / of(1_000, 0.95);
  return [line(1_000), line(100_000), `p95 of 100,000 to p95 of 1,000: ${ratio.toFixed(2)}`];
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
