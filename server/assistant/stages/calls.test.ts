import { startLlm, type LlmReply } from "@atelier/testing/llm";
import { startTraceCollector } from "@atelier/testing/otlp";
import { whileCut } from "@atelier/testing/postgres";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { asc, eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from "vitest";
import { schema } from "../../db/index.ts";
import { inspectEnv, newId, openTracing } from "../../platform/index.ts";
import type { Services } from "../../services.ts";
import { addSpeaker } from "../import-talks.ts";
import { stageModel } from "../models.ts";
import { callModel } from "./calls.ts";
import { ModelError } from "./model-errors.ts";

const llm = await startLlm();
const quick = { retryDelayS: 0.01, rateLimitWaitS: 0.05 };
let fixture: TestServices;
let services: Services;
beforeAll(async () => {
  fixture = await createTestServices({
    env: llm.env,
    config: { assistant: { ...quick, responder: { timeoutS: 30 } } },
  });
  ({ services } = fixture);
});
afterAll(async () => {
  await fixture.close();
  await llm.close();
});

let ownerId = "";
beforeEach(async () => {
  ownerId = await addSpeaker(services.db, "Ann");
});

/** Calls the model once as a stage does; the model answers with these replies, the last one again and again. */
async function callWith(
  replies: readonly LlmReply[],
  { on = services, signal = new AbortController().signal } = {},
) {
  const from = llm.requests.length;
  llm.answer = () => replies[Math.min(llm.requests.length - from, replies.length) - 1] ?? {};
  const model = stageModel(on, "responder");
  if (!model) throw new Error("no model");
  const call = {
    runId: null,
    ownerId,
    stage: "responder",
    model,
    promptVersion: 1,
    inputTokens: 10,
  } as const;
  const { generateText } = await import("ai");
  const outcome = await callModel(on, call, {
    signal,
    make: async (settings) => {
      const { text, usage } = await generateText({ ...settings, prompt: "Hello" });
      return { value: text, usage };
    },
  }).catch((error: unknown) => error);
  const { modelCalls } = schema;
  const rows = await services.db
    .select()
    .from(modelCalls)
    .where(eq(modelCalls.ownerId, ownerId))
    .orderBy(asc(modelCalls.startedAt), asc(modelCalls.try));
  return { outcome, requests: llm.requests.slice(from), rows };
}

const fine: LlmReply = { text: "Hello there" };

test("a call is stored with its tokens and its cost", async () => {
  const { outcome, rows } = await callWith([fine]);
  expect(outcome).toBe("Hello there");
  expect(rows).toMatchObject([
    { try: 1, model: "local/simulated", inputTokens: 1, outputTokens: 2, costUsd: 0, errorClass: null },
  ]);
});

test("S9 a call is a span with its tokens, and has no word of it whatever the operator asks", async () => {
  const collector = await startTraceCollector();
  onTestFinished(() => collector.close());
  const { env } = inspectEnv({
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: "true",
  });
  const tracing = await openTracing(env, { name: "worker", log: services.log });
  await callWith([{ status: 500, message: "Hello failed" }, fine], { on: { ...services, tracing } });
  await tracing?.close();
  await expect.poll(() => collector.spans()).toHaveLength(2);
  const [failed, made] = collector.spans();
  expect([failed?.name, failed?.isError]).toEqual(["chat local/simulated", true]);
  expect(made).toMatchObject({ name: "chat local/simulated", kind: 3, isError: false });
  expect(made?.attributes).toMatchObject({
    "gen_ai.operation.name": "chat",
    "gen_ai.request.model": "local/simulated",
    "gen_ai.usage.input_tokens": 1,
    "gen_ai.usage.output_tokens": 2,
    "atelier.assistant.stage": "responder",
  });
  expect(collector.text()).not.toContain("Hello");
});

test.each([
  ["seconds", { "retry-after": "0.2" }, 190],
  ["milliseconds", { "retry-after-ms": "150" }, 140],
  ["no header", {}, 45],
  ["words", {}, 190, "No deployments available for selected model, Try again in 0.2 seconds."],
] as const)(
  "B9 a rate limit is waited for as the answer asks: %s",
  async (_name, headers, leastMs, message?) => {
    const startedAt = performance.now();
    const fault = { status: 429, headers, ...(message === undefined ? {} : { message }) };
    const { outcome, rows } = await callWith([fault, fine]);
    expect(outcome).toBe("Hello there");
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(leastMs);
    expect(rows.map(({ errorClass, costUsd }) => [errorClass, costUsd])).toEqual([
      ["rate_limited", 0],
      [null, 0],
    ]);
  },
);

test.each([
  ["rate_limited", { status: 429 }, 3],
  ["rate_limited", { status: 529 }, 3],
  ["refused", { status: 429, message: "insufficient_quota: You exceeded your current quota" }, 1],
  ["refused", { status: 429, message: "Your access was terminated due to violation of our policies." }, 1],
  ["unavailable", { status: 500 }, 3],
  ["unavailable", { status: 503 }, 3],
  ["unavailable", { status: 409 }, 3],
  ["unavailable", { status: 499, message: "The operation was cancelled." }, 3],
  // A server at home has perhaps one place: the next try would wait behind the last one.
  ["timeout", { status: 504 }, 1],
  ["timeout", { status: 524 }, 1],
  ["refused", { status: 401 }, 1],
  ["refused", { status: 403 }, 1],
  // Once more with the least that can be asked.
  ["refused", { status: 400, message: "unknown parameter" }, 2],
  ["over_limit", { status: 400, message: "This model's maximum context length is 8192 tokens" }, 1],
  ["over_limit", { status: 413 }, 1],
] as const)("B9 %s: %o is tried %i times", async (errorClass, reply, tries) => {
  const { outcome, requests, rows } = await callWith([reply]);
  expect(outcome).toMatchObject({ name: "ModelError", class: errorClass });
  expect(requests).toHaveLength(tries);
  const calls = errorClass === "refused" ? 1 : tries;
  expect(rows.map((row) => row.errorClass)).toEqual(Array.from({ length: calls }, () => errorClass));
});

test("B9 a model at home that does not answer is given up after its time, and not asked again", async () => {
  const hasty = withAssistant({ responder: { ...services.config.assistant.responder, timeoutS: 1 } });
  const { outcome, rows } = await callWith([{ delayMs: Infinity }, fine], { on: hasty });
  expect(outcome).toMatchObject({ class: "timeout", message: "The language model did not answer in time." });
  expect(rows.map(({ errorClass }) => errorClass)).toEqual(["timeout"]);
});

test("a stage that is given up makes no further call", async () => {
  const stopped = new AbortController();
  const from = llm.requests.length;
  const calling = callWith([{ delayMs: Infinity }], { signal: stopped.signal });
  await expect.poll(() => llm.requests.length).toBeGreaterThan(from);
  stopped.abort(new Error("the process stops"));
  const { outcome, rows } = await calling;
  expect(outcome).toMatchObject({ message: "the process stops" });
  expect(rows.map(({ errorClass }) => errorClass)).toEqual(["cancelled"]);
});

/** The same studio with other settings. */
function withAssistant(
  changes: Partial<Services["config"]["assistant"]>,
  env: Partial<Services["env"]> = {},
): Services {
  const assistant = { ...services.config.assistant, ...changes };
  return { ...services, env: { ...services.env, ...env }, config: { ...services.config, assistant } };
}

test("no temperature is sent to a model that refuses it", async () => {
  const { requests } = await callWith([fine]);
  expect(requests.at(-1)?.temperature).toBe(0.7);
  const refusing = withAssistant({ withoutSampling: ["local/sim"] });
  const { requests: plain } = await callWith([fine], { on: refusing });
  expect(plain.at(-1)).not.toHaveProperty("temperature");
});

test("a question of an API key is answered within the cap of the key", async () => {
  const { db } = services;
  const [id, conversationId, questionId] = [newId(), newId(), newId()];
  await db.insert(schema.assistantConversations).values({ id: conversationId, ownerId, title: "t" });
  const question = { id: questionId, conversationId, ownerId, role: "user", text: "Hello" } as const;
  await db.insert(schema.assistantMessages).values(question);
  const status = "responding";
  await db
    .insert(schema.assistantRuns)
    .values({ id, ownerId, conversationId, questionId, apiKeyId: "a key", status });
  await db.insert(schema.keyCaps).values({ keyId: "a key", userId: ownerId, usd: 0.01, period: "day" });
  const model = stageModel(services, "responder");
  if (!model) throw new Error("no model");
  const dear = { ...model, price: { inputUsd: 0, outputUsd: 10, isKnown: true } };
  const call = { runId: id, ownerId, stage: "responder", promptVersion: 1, inputTokens: 0 } as const;
  const make = async () => ({ value: "Hi", usage: { inputTokens: 1, outputTokens: 100 } });
  const signal = new AbortController().signal;
  const asked = callModel(services, { ...call, model: dear }, { signal, make });
  await expect(asked).rejects.toMatchObject({
    class: "over_budget",
    message: expect.stringContaining("This API key may spend $0.010 a day"),
  });
  await db.update(schema.keyCaps).set({ usd: 0.03 });
  expect(await callModel(services, { ...call, model: dear }, { signal, make })).toBe("Hi");
  const [stored] = await db.select().from(schema.modelCalls).where(eq(schema.modelCalls.runId, id));
  expect(stored).toMatchObject({ apiKeyId: "a key", costUsd: 0.001 });
});

test("two calls at once never exceed a cap, and the refusal names it", async () => {
  await services.db.insert(schema.spendingCaps).values({ userId: ownerId, dailyUsd: 0.05, monthlyUsd: null });
  // 2,000 tokens at the most, at 10 dollars for a million: two cents a call.
  const model = stageModel(services, "responder");
  if (!model) throw new Error("no model");
  const price = { inputUsd: 0, outputUsd: 10, isKnown: true };
  const dear = { ...model, price, timeoutMs: 60_000 };
  // What a call really cost is known, and less, when it has ended: so none ends before all have asked.
  const allAsked = Promise.withResolvers<LlmReply>();
  let refusals = 0;
  llm.answer = () => allAsked.promise;
  const call = {
    runId: null,
    ownerId,
    stage: "responder",
    model: dear,
    promptVersion: 1,
    inputTokens: 0,
  } as const;
  const { generateText } = await import("ai");
  const outcomes = await Promise.allSettled(
    Array.from({ length: 6 }, () =>
      callModel(services, call, {
        signal: new AbortController().signal,
        make: async (settings) => {
          const { text, usage } = await generateText({ ...settings, prompt: "Hello" });
          return { value: text, usage };
        },
      }).catch((error: unknown) => {
        refusals += 1;
        if (refusals === 4) allAsked.resolve(fine);
        throw error;
      }),
    ),
  );
  expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(2);
  const refused = outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason] : []));
  for (const error of refused)
    expect(error).toMatchObject({
      class: "over_budget",
      message: expect.stringContaining("Your daily limit of $0.05"),
    });
});

/** Does work while the session that stores the end of a call is itself ended, so many times. */
const cutting = <T>(times: number, work: () => Promise<T>) =>
  whileCut(services, { table: "model_calls", times }, work);

type Make = Parameters<typeof callModel<string>>[2]["make"];

/** Calls a model that costs a cent for a thousand tokens of its answer. */
async function buy(make: Make, signal = new AbortController().signal) {
  const model = stageModel(services, "responder");
  if (!model) throw new Error("no model");
  const dear = { ...model, price: { inputUsd: 0, outputUsd: 10, isKnown: true } };
  const call = {
    runId: null,
    ownerId,
    stage: "responder",
    model: dear,
    promptVersion: 1,
    inputTokens: 0,
  } as const;
  const outcome = await callModel(services, call, { signal, make }).catch((error: unknown) => error);
  const { modelCalls } = schema;
  return {
    outcome,
    rows: await services.db.select().from(modelCalls).where(eq(modelCalls.ownerId, ownerId)),
  };
}

/** An answer of 100 tokens, a tenth of a cent; counts how often it was bought. */
function seller(outputTokens = 100) {
  const sold = { times: 0 };
  const make = async () => {
    sold.times += 1;
    return { value: "Hi", usage: { inputTokens: 1, outputTokens } };
  };
  return { sold, make };
}

test("B9 an answer is bought once, at its price, while the database goes away as it comes", async () => {
  const { sold, make } = seller();
  const { outcome, rows } = await cutting(2, () => buy(make));
  expect([outcome, sold.times]).toEqual(["Hi", 1]);
  expect(rows).toMatchObject([{ costUsd: 0.001, errorClass: null }]);
});

test("B9 an answer whose cost cannot be stored counts at the most that it can cost, and is not bought again", async () => {
  const { sold, make } = seller(3_000_000_000);
  const { outcome, rows } = await buy(make);
  expect([outcome, sold.times]).toEqual(["Hi", 1]);
  expect(rows).toMatchObject([{ costUsd: null, expectedUsd: 0.02 }]);
});

test("B9 an answer comes although its question is stopped while the database is away", async () => {
  const { sold, make } = seller();
  const stop = new AbortController();
  const buying = cutting(1_000, () => buy(make, stop.signal));
  await expect.poll(() => sold.times).toBe(1);
  stop.abort(new Error("the process stops"));
  const { outcome, rows } = await buying;
  expect([outcome, sold.times]).toEqual(["Hi", 1]);
  expect(rows).toMatchObject([{ costUsd: null, errorClass: null }]);
});

test("B9 a refused call keeps its reason while the database goes away", async () => {
  const refuse = () => Promise.reject(new ModelError("refused"));
  const { outcome, rows } = await cutting(2, () => buy(refuse));
  expect(outcome).toMatchObject({ class: "refused" });
  expect(rows).toMatchObject([{ costUsd: 0, errorClass: "refused" }]);
});

test.each(["unavailable", "rate_limited", "refused"] as const)(
  "B9 an answer that has begun and then ends as %s is not free",
  async (errorClass) => {
    const { outcome, rows } = await buy(async (_settings, progress) => {
      progress.noteSign();
      throw new ModelError(errorClass);
    });
    expect(outcome).toMatchObject({ class: errorClass });
    const counted = { costUsd: null, expectedUsd: 0.02, errorClass };
    expect(rows).toMatchObject(rows.map(() => counted));
    expect(rows).toHaveLength(errorClass === "refused" ? 1 : 3);
  },
);

test("B9 a fault of the database within a call is none of the model", async () => {
  const { outcome, rows } = await buy(async () => {
    await services.db.execute(sql`select 1 / 0`);
    return { value: "Hi", usage: { inputTokens: 1, outputTokens: 1 } };
  });
  expect(outcome).toMatchObject({ name: "Error", cause: { code: "22012" } });
  expect(rows).toMatchObject([{ costUsd: null, errorClass: "unknown" }]);
});

test("a model of a vendor without a key is no model", () => {
  const claude = withAssistant({}, { LLM_RESPONDER_MODEL: "anthropic/claude-x" });
  expect(stageModel(claude, "responder")).toBeNull();
  const keyed = withAssistant({}, { LLM_RESPONDER_MODEL: "anthropic/claude-x", ANTHROPIC_API_KEY: newId() });
  expect(stageModel(keyed, "responder")).toMatchObject({ id: "anthropic/claude-x", temperature: undefined });
  const bare = withAssistant({}, { LLM_RESPONDER_MODEL: "llama3.2:latest" });
  expect(stageModel(bare, "responder")).toMatchObject({ id: "local/llama3.2:latest", temperature: 0.7 });
});

test("a server of models outside of the own network has an unknown price, unless the operator names one", () => {
  const at = (url: string, assistant = {}) =>
    stageModel(withAssistant(assistant, { LLM_BASE_URL: url, LLM_RESPONDER_MODEL: "local/big" }), "responder")
      ?.price;
  expect(at("http://127.0.0.1:11434/v1")).toMatchObject({ inputUsd: 0, isKnown: true });
  expect(at("https://models.example.com/v1")).toMatchObject({ inputUsd: 10, isKnown: false });
  const prices = { "local/": { inputUsd: 1, outputUsd: 2 } };
  expect(at("https://models.example.com/v1", { prices })).toEqual({
    inputUsd: 1,
    outputUsd: 2,
    isKnown: true,
  });
});
