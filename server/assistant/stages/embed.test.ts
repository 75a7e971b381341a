import { startLlm } from "@atelier/testing/llm";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { schema } from "../../db/index.ts";
import { newId } from "../../platform/index.ts";
import type { Services } from "../../services.ts";
import { addSpeaker, importTalks } from "../import-talks.ts";
import { addMemory, deleteMemory, editMemory } from "../memories.ts";
import { recall } from "../recall/recall.ts";
import { pauseMemory } from "../settings.ts";
import { embedMissing } from "./embed.ts";

const llm = await startLlm();
let fixture: TestServices;
let services: Services;
let paid: Services;
beforeAll(async () => {
  fixture = await createTestServices({
    env: {
      ...llm.env,
      LLM_EMBEDDING_MODEL: "local/simulated",
      OPENAI_API_KEY: "sk-test",
      OPENAI_BASE_URL: llm.url,
    },
    config: {
      assistant: {
        retryDelayS: 0.01,
        embedding: { batchSize: 8 },
        // A cent a token.
        prices: { "openai/": { inputUsd: 10_000, outputUsd: 0 } },
      },
    },
  });
  ({ services } = fixture);
  paid = { ...services, env: { ...services.env, LLM_EMBEDDING_MODEL: "openai/small" } };
});
afterAll(async () => {
  await fixture.close();
  await llm.close();
});
beforeEach(async () => {
  llm.answerEmbedding = () => ({});
  await services.db.execute("delete from users");
  await services.db.execute("delete from model_calls");
});

const run = (on = services, signal = new AbortController().signal) =>
  embedMissing(on, { signal, isForced: true });

interface Vector extends Record<string, unknown> {
  readonly text: string;
  readonly dimensions: number;
}

/** Texts that have vectors, with their dimensions. */
async function stored(ownerId: string): Promise<Vector[]> {
  const rows = await services.db.execute<Vector>(`
    select coalesce(s.text, m.summary) as text, v.dimensions from recall_vectors v
    left join assistant_messages s on s.id = v.id left join memories m on m.id = v.id
    where v.owner_id = '${ownerId}' order by 1`);
  return [...rows];
}

const texts = async (ownerId: string) => (await stored(ownerId)).map(({ text }) => text);

const sent = (from: number) => llm.embeddings.slice(from).flatMap((request) => request.texts);

async function addUser(...said: string[]): Promise<string> {
  const ownerId = await addSpeaker(services.db, "Ann");
  const messages = said.map((text, at) => ({
    session: "talk",
    id: `${at}`,
    at: new Date(Date.now() - 86_400_000 + at * 1_000),
    speaker: "Ann",
    text,
  }));
  await importTalks(services.db, ownerId, messages);
  return ownerId;
}

const spent = () =>
  services.db.execute(`
    select owner_id as owner, stage, model, input_tokens as tokens, cost_usd as usd, error_class as error
    from model_calls order by started_at`);

test("M1 messages and memories get vectors, each once, in counted calls of one user's texts", async () => {
  const ann = await addUser("I like linen.", "I like wool.", "   ");
  const ben = await addUser("I like silk.");
  await addMemory(services, { ownerId: ann, text: "The user likes linen." });
  const from = llm.embeddings.length;
  expect(await run()).toBe(4);
  expect(await texts(ann)).toEqual(["I like linen.", "I like wool.", "The user likes linen."]);
  expect(await texts(ben)).toEqual(["I like silk."]);
  expect(sent(from)).toHaveLength(4);
  const call = { stage: "embedding", model: "local/simulated", usd: 0, error: null };
  expect(await spent()).toEqual(
    expect.arrayContaining([
      { ...call, owner: ann, tokens: 10 },
      { ...call, owner: ben, tokens: 3 },
    ]),
  );
  expect(await run()).toBe(0);
  expect(sent(from)).toHaveLength(4);
});

test("S6 two workers at once send no text twice; the work of one that died goes on elsewhere", async () => {
  const said = Array.from({ length: 30 }, (_, at) => `Sentence ${at}.`);
  const ownerId = await addUser(...said);
  const another = await fixture.openAnother();
  const from = llm.embeddings.length;
  const made = await Promise.all([run(), run(another)]);
  // Null when it came while the other one was at work, 0 when it came behind it.
  expect(made.map((count) => count ?? 0).toSorted((a, b) => a - b)).toEqual([0, 30]);
  expect(sent(from).toSorted()).toEqual(said.toSorted());
  await services.db.execute("delete from recall_vectors");
  await services.db.execute(
    "update turns set held_until = now() + interval '1 minute', due_at = now() - interval '1 second'",
  );
  expect(await run(another)).toBeNull();
  await services.db.execute(
    "update turns set held_until = now() - interval '1 second', due_at = now() - interval '1 second'",
  );
  expect(await run(another)).toBe(30);
  expect(await texts(ownerId)).toHaveLength(30);
});

test("M2 a text that is deleted or changed while its vector is made gets none", async () => {
  const ownerId = await addUser("Forget me.");
  const [gone, changed] = [
    await addMemory(services, { ownerId, text: "Delete me." }),
    await addMemory(services, { ownerId, text: "Change me." }),
  ];
  llm.answerEmbedding = async (_request, number) => {
    if (number === first) {
      await deleteMemory(services, { ownerId, id: gone.id });
      await editMemory(services, { ownerId, id: changed.id, text: "Changed." });
      await services.db.execute("delete from assistant_messages");
    }
    return {};
  };
  const first = llm.embeddings.length + 1;
  await run();
  expect(await texts(ownerId)).toEqual([]);
  await run();
  expect(await texts(ownerId)).toEqual(["Changed."]);
  expect(sent(first)).toEqual(["Changed."]);
});

test("M1 a user at a cap of spending waits, others do not, and nothing is spent above it", async () => {
  const [poor, rich] = [await addUser("I like linen."), await addUser("I like silk.")];
  await services.db.insert(schema.spendingCaps).values({ userId: poor, dailyUsd: 0.02, monthlyUsd: null });
  expect(await run(paid)).toBe(1);
  expect(await texts(poor)).toEqual([]);
  expect(await texts(rich)).toEqual(["I like silk."]);
  const costs = await spent();
  expect(costs).toEqual([expect.objectContaining({ owner: rich, model: "openai/small", usd: 0.03 })]);
  await services.db.execute(`update spending_caps set daily_usd = 1 where user_id = '${poor}'`);
  expect(await run(paid)).toBe(1);
  await services.db.execute(`update spending_caps set daily_usd = 0.01 where user_id = '${poor}'`);
  const before = llm.embeddings.length;
  const hits = await recall(paid, poor, "linen", { limit: 5 });
  expect(hits.map(({ text }) => text)).toEqual(["I like linen."]);
  expect(llm.embeddings).toHaveLength(before);
});

test("calls of a question, and later ones about its talk, count for the API key that asked; only the first are refused by its cap", async () => {
  const ownerId = await addUser("I like linen.", "I like silk.");
  await addUser("I like satin.");
  const { db } = services;
  const [question] = await db
    .select()
    .from(schema.assistantMessages)
    .where(eq(schema.assistantMessages.ownerId, ownerId));
  if (!question) throw new Error("nothing was said");
  const runId = newId();
  const asked = { questionId: question.id, conversationId: question.conversationId, ownerId };
  await db
    .insert(schema.assistantRuns)
    .values({ id: runId, ...asked, apiKeyId: "a key", status: "completed" });
  await db.insert(schema.keyCaps).values({ keyId: "a key", userId: ownerId, usd: 0.001, period: "day" });
  expect(await run(paid)).toBe(3);
  const counted = async () =>
    (await db.execute(`select api_key_id as key, cost_usd as usd from model_calls order by api_key_id`)).map(
      (row) => [row["key"], row["usd"]],
    );
  expect(await counted()).toEqual([
    ["a key", 0.06],
    [null, 0.03],
  ]);
  expect(await recall(paid, ownerId, "linen", { limit: 5, runId })).not.toEqual([]);
  expect(await counted()).toHaveLength(2);
  await db.update(schema.keyCaps).set({ usd: 1 });
  await recall(paid, ownerId, "linen", { limit: 5, runId });
  expect(await counted()).toEqual([
    ["a key", 0.06],
    ["a key", 0.01],
    [null, 0.03],
  ]);
});

test("texts of guests are not sent to a model that costs money, nor those of a paused memory", async () => {
  const [guest, paused] = [await addUser("I like linen."), await addUser("I like silk.")];
  await services.db.execute(`update users set is_anonymous = true where id = '${guest}'`);
  await pauseMemory(services, { userId: paused, isPaused: true });
  expect(await run(paid)).toBe(0);
  expect(await run()).toBe(1);
  expect(await texts(guest)).toEqual(["I like linen."]);
  await pauseMemory(services, { userId: paused, isPaused: false });
  expect(await run()).toBe(1);
});

test("a text that is too long for the model, or without direction, is left out for good", async () => {
  const said = ["One.", "Two.", "LONG.", "Three.", "EMPTY."];
  const ownerId = await addUser(...said);
  llm.answerEmbedding = (request) => {
    if (request.texts.some((text) => text.includes("LONG"))) return { status: 413 };
    const isEmpty = (text: string) => text.includes("EMPTY");
    return { vectors: request.texts.map((text) => (isEmpty(text) ? [0, 0] : [text.length, 1])) };
  };
  expect(await run()).toBe(5);
  expect(await stored(ownerId)).toEqual([
    { text: "EMPTY.", dimensions: 0 },
    { text: "LONG.", dimensions: 0 },
    { text: "One.", dimensions: 2 },
    { text: "Three.", dimensions: 2 },
    { text: "Two.", dimensions: 2 },
  ]);
  expect(await run()).toBe(0);
});

test.each<readonly [string, Awaited<ReturnType<typeof llm.answerEmbedding>>]>([
  ["refuses", { status: 400, message: "The content was flagged." }],
  ["crashes at", { status: 500, message: "unsupported value: NaN" }],
  ["has no vector for", { vectors: [[]] }],
])("a text that the model %s holds up no other one, and is tried again", async (_name, fault) => {
  const ann = await addUser("One.", "POISON.", "Two.");
  const ben = await addUser("Three.", "Four.");
  llm.answerEmbedding = ({ texts: asked }) => (asked.some((text) => text.includes("POISON")) ? fault : {});
  // A crash may be the server's: it is found by and by that one text is at fault.
  for (let round = 0; round < 5; round += 1) await run();
  expect(await texts(ann)).toEqual(["One.", "Two."]);
  expect(await texts(ben)).toEqual(["Four.", "Three."]);
  llm.answerEmbedding = () => ({});
  expect(await run()).toBe(1);
});

test("a text about a key, which a refusal repeats, holds up no other one", async () => {
  const poison = "POISON: notes of Monday\nThe server said: Invalid API key provided";
  const ownerId = await addUser("One.", poison, "Two.");
  llm.answerEmbedding = ({ texts: asked }) => {
    const text = asked.find((each) => each.includes("POISON"));
    return text === undefined ? {} : { status: 400, message: `Cannot embed: ${text}` };
  };
  for (let round = 0; round < 3; round += 1) await run();
  expect(await texts(ownerId)).toEqual(["One.", "Two."]);
  llm.answerEmbedding = () => ({});
  expect(await run()).toBe(1);
});

test("a text that was refused is sent again later, and less and less", { timeout: 120_000 }, async () => {
  await addUser("POISON.", "One.");
  llm.answerEmbedding = ({ texts: asked }) =>
    asked.some((text) => text.includes("POISON")) ? { status: 400 } : {};
  const now = performance.now.bind(performance);
  let laterMs = 0;
  vi.spyOn(performance, "now").mockImplementation(() => now() + laterMs);
  const { signal } = new AbortController();
  const sentAt: number[] = [];
  for (let hour = 0; hour < 60; hour += 1) {
    laterMs = hour * 3_600_000;
    const from = llm.embeddings.length;
    await embedMissing(services, { signal, isForced: false });
    if (sent(from).includes("POISON.")) sentAt.push(hour);
  }
  vi.restoreAllMocks();
  const waits = sentAt.slice(1).map((hour, at) => hour - (sentAt[at] ?? 0));
  expect(waits.length).toBeGreaterThan(2);
  expect(waits).toEqual(waits.toSorted((a, b) => a - b));
  expect(new Set(waits).size).toBeGreaterThan(2);
});

test("a key that is refused ends the round after a few calls", async () => {
  const said = Array.from({ length: 40 }, (_, at) => `Sentence ${at}.`);
  await addUser(...said);
  llm.answerEmbedding = () => ({ status: 401 });
  const from = llm.embeddings.length;
  for (let round = 0; round < 3; round += 1) expect(await run()).toBe(0);
  expect(llm.embeddings.length - from).toBe(3);
  llm.answerEmbedding = () => ({});
  expect(await run()).toBe(40);
});

test.each<readonly [string, number, Awaited<ReturnType<typeof llm.answerEmbedding>>]>([
  ["spent money (OpenAI)", 1, { status: 429, message: "insufficient_quota: You exceeded your quota." }],
  // A 400 is asked once more with the least.
  [
    "spent money (Anthropic)",
    2,
    { status: 400, message: "Your credit balance is too low to access the API." },
  ],
  ["spent money by its status", 1, { status: 402 }],
  ["a key that was revoked", 1, { status: 401 }],
  [
    "a key that is not valid (Google)",
    2,
    { status: 400, message: "API key not valid. Please pass a valid one." },
  ],
  [
    "a key that is not valid (Google, in a list)",
    2,
    {
      status: 400,
      body: [
        { error: { code: 400, message: "API key not valid.", details: [{ reason: "API_KEY_INVALID" }] } },
      ],
    },
  ],
  [
    "a key that was leaked (Google)",
    1,
    { status: 403, message: "Your API key was reported as leaked. Please use another API key." },
  ],
  [
    "a service that is switched off (Google)",
    1,
    {
      status: 403,
      body: {
        error: {
          code: 403,
          message: "Denied.",
          status: "PERMISSION_DENIED",
          details: [{ reason: "SERVICE_DISABLED" }],
        },
      },
    },
  ],
  // Of each text by itself: the round ends because none of three is taken.
  [
    "refusals of content",
    7,
    { status: 403, message: "Your input was flagged: it violates our policies. PERMISSION_DENIED" },
  ],
  ["refusals of everything", 7, { status: 403, message: "No." }],
])("%s after an answer ends the round after %i calls", async (_name, calls, fault) => {
  const ownerId = await addUser(...Array.from({ length: 40 }, (_, at) => `Sentence ${at}.`));
  const from = llm.embeddings.length;
  llm.answerEmbedding = (_request, number) => (number === from + 1 ? {} : fault);
  expect(await run()).toBe(8);
  expect(llm.embeddings.length - from).toBe(1 + calls);
  llm.answerEmbedding = () => ({});
  expect(await run()).toBe(32);
  expect(await texts(ownerId)).toHaveLength(40);
});

test("with a model that is away nothing is made, and all of it the next time", async () => {
  const ownerId = await addUser("I like linen.");
  llm.answerEmbedding = () => ({ status: 503 });
  expect(await run()).toBe(0);
  expect(await spent()).toHaveLength(3);
  llm.answerEmbedding = () => ({});
  expect(await run()).toBe(1);
  expect(await texts(ownerId)).toHaveLength(1);
});

test("a worker that stops makes no further call and leaves the work to others", async () => {
  await addUser("I like linen.");
  const stop = new AbortController();
  const from = llm.embeddings.length;
  llm.answerEmbedding = () => ({ delayMs: Infinity });
  const running = run(services, stop.signal);
  await vi.waitUntil(() => llm.embeddings.length > from);
  stop.abort(new Error("the process stops"));
  await expect(running).rejects.toThrow("the process stops");
  llm.answerEmbedding = () => ({});
  expect(await run()).toBe(1);
});

test("what is new is found without looking through all of the log", async () => {
  const ownerId = await addUser("I like linen.");
  await run();
  await addMemory(services, { ownerId, text: "Something new." });
  const { signal } = new AbortController();
  expect(await embedMissing(services, { signal, isForced: false })).toBe(1);
});

test("without a model of embeddings, or without its key, nothing is made", async () => {
  const ownerId = await addUser("I like linen.");
  for (const model of [undefined, "anthropic/some", "google/some"]) {
    const env = { ...services.env, LLM_EMBEDDING_MODEL: model };
    expect(await run({ ...services, env })).toBeNull();
    const hits = await recall({ ...services, env }, ownerId, "linen", { limit: 5 });
    expect(hits.map(({ text }) => text)).toEqual(["I like linen."]);
  }
  expect(await texts(ownerId)).toEqual([]);
});
