import { startLlm, type LlmReply, textOf } from "@atelier/testing/llm";
import { createTestServices, openOwner, type TestOwner, type TestServices } from "@atelier/testing/services";
import { and, eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { schema } from "../db/index.ts";
import type { Services } from "../services.ts";
import { addSpeaker } from "./import-talks.ts";
import { addMemory } from "./memories.ts";
import { activatePrompt, addPrompt, readPrompt } from "./prompts.ts";
import { ownZone, todayIn } from "../platform/days.ts";
import { type Trial, trialSchema, type TrialSide, tryPrompt } from "./trial.ts";

const llm = await startLlm();
const usual = llm.answer;
let fixture: TestServices;
let services: Services;
let owner: TestOwner;
beforeAll(async () => {
  fixture = await createTestServices({
    env: llm.env,
    config: { assistant: { retryDelayS: 0.01, responder: { timeoutS: 30 } } },
  });
  ({ services } = fixture);
  owner = await openOwner(services, "owner@example.com");
});
afterAll(async () => {
  await fixture.close();
  await llm.close();
});

let adminId = "";
beforeEach(async () => {
  llm.answer = usual;
  adminId = await addSpeaker(services.db, "Ada");
});

test("a version that is the first act of a new studio does not take the place of what came with the product", async () => {
  expect(
    await addPrompt(services, { role: "assembler", text: "{memory}", note: "", authorId: adminId }),
  ).toBe(2);
  expect(await readPrompt(services, "assembler")).toMatchObject({ version: 1, isActive: true });
});

const draft = { text: "DRAFT of today, {today}." };
const question = "What dress did I like?";

function attempt(
  input: object,
  { on = services, signal = new AbortController().signal } = {},
): Promise<TrialSide[]> {
  const trial: Trial = trialSchema.parse({ candidate: draft, ...input });
  return tryPrompt(on, { trial, ownerId: adminId, signal });
}

const callsOf = (ownerId: string) =>
  services.db.select().from(schema.modelCalls).where(eq(schema.modelCalls.ownerId, ownerId));

/** The same studio with other settings. */
function changed(
  env: Partial<Services["env"]>,
  assistant: Partial<Services["config"]["assistant"]> = {},
): Services {
  const config = { ...services.config, assistant: { ...services.config.assistant, ...assistant } };
  return { ...services, env: { ...services.env, ...env }, config };
}

test("the active version and the draft get the same sample, each with its own words", async () => {
  const from = llm.requests.length;
  const sides = await attempt({
    role: "analyzer",
    question,
    turns: [
      { role: "user", text: "I like silk." },
      { role: "assistant", text: "Noted." },
    ],
  });
  const analysis = {
    contextType: "both",
    searchKeywords: expect.arrayContaining(["dress", "like"]),
  };
  expect(sides).toMatchObject([
    { version: 1, outcome: { type: "analysis", analysis }, usd: 0 },
    { version: null, outcome: { type: "analysis", analysis }, usd: 0 },
  ]);
  for (const { ms, inputTokens, outputTokens } of sides) {
    expect(ms).toBeGreaterThan(0);
    expect([inputTokens, outputTokens]).toEqual([expect.any(Number), expect.any(Number)]);
  }
  const sent = llm.requests.slice(from).map(({ messages }) => messages.map(textOf));
  const today = todayIn(ownZone());
  expect(sent.map(([instructions = ""]) => instructions).toSorted((a, b) => a.localeCompare(b))).toEqual([
    `DRAFT of today, ${today}.`,
    expect.stringContaining("You prepare the work"),
  ]);
  const materials = new Set(sent.map(([, material]) => material));
  expect([...materials].map((material) => JSON.parse(material ?? ""))).toEqual([
    {
      turns: [
        { role: "user", text: "I like silk." },
        { role: "assistant", text: "Noted." },
      ],
      summaries: [],
      question,
    },
  ]);
  expect(await callsOf(adminId)).toMatchObject([
    { stage: "trial", runId: null, try: 1, costUsd: 0, errorClass: null },
    { stage: "trial", runId: null, try: 1, costUsd: 0, errorClass: null },
  ]);
});

test("a stored version is tried beside the active one, which alone is tried against itself", async () => {
  const version = await addPrompt(services, {
    role: "archivist",
    text: "Be brief.",
    note: "",
    authorId: adminId,
  });
  const lines = ["I wear size M.", "No lace, please."];
  const sides = await attempt({ role: "archivist", lines, candidate: { version } });
  const memory = { summary: `The user said: ${lines.join(" ")}`, tags: expect.arrayContaining(["size"]) };
  expect(sides).toMatchObject([
    { version: 1, outcome: { type: "memory", memory } },
    { version, outcome: { type: "memory", memory } },
  ]);
  const rows = await callsOf(adminId);
  expect(new Set(rows.map(({ promptVersion }) => promptVersion))).toEqual(new Set([1, version]));
  const alone = await attempt({ role: "archivist", lines, candidate: { version: 1 } });
  expect(alone.map((side) => side.version)).toEqual([1]);
  await expect(attempt({ role: "archivist", lines, candidate: { version: 99 } })).rejects.toMatchObject({
    code: "not_found",
  });
});

test("what is worth nothing is no memory", async () => {
  llm.answer = () => ({ text: JSON.stringify({ summary: " ", tags: [] }) });
  const [side] = await attempt({ role: "archivist", lines: ["Hello!"] });
  expect(side?.outcome).toEqual({ type: "memory", memory: null });
});

test("the assembler needs no model: the admin's own memory and no other's, within the budget", async () => {
  await addMemory(services, { ownerId: adminId, text: "The user likes the emerald dress." });
  await addMemory(services, {
    ownerId: await addSpeaker(services.db, "Eve"),
    text: "Eve hides a purple dress.",
  });
  const bare = changed({ LLM_BASE_URL: undefined, LLM_RESPONDER_MODEL: undefined });
  const from = llm.requests.length;
  const input = { role: "assembler", question, candidate: { text: "REMEMBERED:\n{memory}" } };
  const sides = await attempt(input, { on: bare });
  expect(llm.requests.length).toBe(from);
  expect(sides.map(({ inputTokens, usd }) => [inputTokens, usd])).toEqual([
    [null, null],
    [null, null],
  ]);
  const contexts = sides.map(({ outcome }) => (outcome.type === "context" ? outcome.context : null));
  expect(contexts[1]?.instructions).toMatch(/REMEMBERED:\n- \[[\d-]+\] The user likes the emerald dress\.$/);
  expect(contexts[0]?.instructions).toContain("What you remember of earlier talks");
  expect(sides.map(({ outcome }) => outcome.type === "context" && outcome.intro)).toEqual([
    expect.stringMatching(/^What you remember/),
    expect.stringMatching(/^REMEMBERED:/),
  ]);
  for (const context of contexts) {
    expect(context?.instructions).not.toContain("purple");
    expect(context?.messages).toEqual([{ role: "user", content: question }]);
    expect(context?.used).toHaveLength(1);
    expect(context?.tokens.total).toBeGreaterThan(context?.tokens.memory ?? 0);
  }
});

test("whatever the model wishes, a trial leaves no run, message, memory, proposal or job behind", async () => {
  const tables = [
    "assistant_runs",
    "assistant_messages",
    "assistant_conversations",
    "memories",
    "proposals",
    "jobs",
  ];
  const count = async () => {
    const counts = tables.map(
      (table) => sql`(select count(*) from ${sql.identifier(table)})::int as ${sql.identifier(table)}`,
    );
    return services.db.execute(sql`select ${sql.join(counts, sql`, `)}`);
  };
  adminId =
    (await services.db.select().from(schema.users).where(eq(schema.users.email, "owner@example.com")))[0]
      ?.id ?? "";
  const before = await count();
  expect(Object.keys(before[0] ?? {})).toEqual(tables);
  const toolCalls = [
    { name: "propose_job", args: { kind: "upscale", image: owner.imageId, scale: 2 } },
    { name: "show_images", args: { imageIds: [owner.imageId] } },
    { name: "search_memory", args: { query: "dress" } },
  ];
  const from = llm.requests.length;
  llm.answer = () => ({ text: "Let me see.", toolCalls });
  const sides = await attempt({ role: "responder", question });
  for (const { outcome } of sides)
    expect(outcome).toEqual({
      type: "answer",
      text: expect.stringContaining("Let me see."),
      toolCalls: toolCalls.map(({ name, args }) => ({ name, input: args })),
    });
  // One call for each side: nothing answers the tools.
  const requests = llm.requests.slice(from);
  expect(requests).toHaveLength(2);
  expect(requests[0]?.tools?.map((tool) => tool.function.name)).toContain("propose_job");
  llm.answer = usual;
  const others = [
    ...(await attempt({ role: "analyzer", question })),
    ...(await attempt({ role: "archivist", lines: ["I like silk."] })),
    ...(await attempt({ role: "assembler", question })),
  ];
  const types = ["analysis", "memory", "context"].flatMap((type) => [type, type]);
  expect(others.map(({ outcome }) => outcome.type)).toEqual(types);
  expect(await count()).toEqual(before);
});

test.each([
  ["no JSON", "no JSON at all", /JSON|token/i],
  ["another form", JSON.stringify({ needsContext: "maybe" }), /needsContext: .*contextType: /],
])("an answer of %s is shown with its reason, and not asked for again", async (_name, text, reason) => {
  const from = llm.requests.length;
  llm.answer = () => ({ text });
  const sides = await attempt({ role: "analyzer", question });
  for (const side of sides) {
    expect(side.outcome).toEqual({ type: "unreadable", text, reason: expect.stringMatching(reason) });
    expect(side).toMatchObject({ usd: 0, outputTokens: text.split(" ").length });
  }
  expect(llm.requests.length - from).toBe(2);
});

test.each([
  [
    "rate_limited",
    { status: 429 },
    "The language model is limited at the moment. Try again in a few minutes.",
  ],
  [
    "refused",
    { status: 401 },
    "The language model refused the request. The admin finds the reason in the log.",
  ],
  ["unavailable", { status: 500 }, "The language model cannot be reached at the moment."],
  ["timeout", { status: 504 }, "The language model did not answer in time."],
] as const)("%s is told as everywhere, after one try", async (errorClass, reply: LlmReply, message) => {
  const from = llm.requests.length;
  llm.answer = (request) =>
    textOf(request.messages[0] ?? { role: "system" }).startsWith("DRAFT") ? reply : { text: "Fine." };
  const sides = await attempt({ role: "responder", question });
  expect(sides).toMatchObject([
    { version: 1, outcome: { type: "answer", text: "Fine.", toolCalls: [] } },
    { version: null, outcome: { type: "failed", class: errorClass, message } },
  ]);
  // A server that fails may work without tools, so it is asked once more without them.
  expect(llm.requests.length - from).toBe(errorClass === "unavailable" ? 3 : 2);
});

test("a trial is held by the caps, and says which", async () => {
  await services.db
    .insert(schema.spendingCaps)
    .values({ userId: adminId, dailyUsd: 0.001, monthlyUsd: null });
  const paid = changed({ LLM_RESPONDER_MODEL: "openai/gpt-x", OPENAI_API_KEY: "none" });
  const sides = await attempt({ role: "responder", question }, { on: paid });
  for (const { outcome, usd } of sides) {
    const message = expect.stringContaining("Your daily limit of $0.001");
    expect(outcome).toEqual({ type: "failed", class: "over_budget", message });
    expect(usd).toBe(0);
  }
  expect(await callsOf(adminId)).toEqual([]);
});

test("without a model the trial says what is missing", async () => {
  const bare = changed({ LLM_RESPONDER_MODEL: "openai/gpt-x" });
  const sides = await attempt({ role: "responder", question }, { on: bare });
  const outcome = { type: "no_model", problem: "openai/gpt-x needs OPENAI_API_KEY." };
  expect(sides.map((side) => side.outcome)).toEqual([outcome, outcome]);
});

test("a cancelled trial ends its calls", async () => {
  const left = new AbortController();
  const from = llm.requests.length;
  llm.answer = () => ({ delayMs: Infinity });
  const trying = attempt({ role: "responder", question }, { signal: left.signal });
  await expect.poll(() => llm.requests.length - from).toBe(2);
  left.abort();
  const sides = await trying;
  expect(sides.map(({ outcome }) => outcome)).toEqual([{ type: "cancelled" }, { type: "cancelled" }]);
  const rows = await callsOf(adminId);
  expect(rows.map(({ errorClass }) => errorClass)).toEqual(["cancelled", "cancelled"]);
});

test.each([
  ["in its time", {}, 1],
  ["in a function before the platform's limit", { FUNCTION_SECONDS: 1 }, 60],
])("a trial with a silent model ends %s", async (_name, env, timeoutS) => {
  const short = changed(env, { responder: { ...services.config.assistant.responder, timeoutS } });
  llm.answer = () => ({ delayMs: Infinity });
  const [side] = await attempt({ role: "responder", question }, { on: short });
  expect(side?.outcome).toMatchObject({ type: "failed", class: "timeout" });
});

test("an admin who tries too much waits", async () => {
  for (let number = 0; number < 10; number += 1) await attempt({ role: "archivist", lines: ["Hello."] });
  await expect(attempt({ role: "archivist", lines: ["Hello."] })).rejects.toMatchObject({
    code: "rate_limited",
  });
  const { modelCalls } = schema;
  await services.db
    .update(modelCalls)
    .set({ startedAt: sql`clock_timestamp() - interval '61 seconds'` })
    .where(and(eq(modelCalls.ownerId, adminId), eq(modelCalls.stage, "trial")));
  expect(await attempt({ role: "archivist", lines: ["Hello."] })).toHaveLength(2);
});

test("the active version is that of this moment", async () => {
  const version = await addPrompt(services, {
    role: "responder",
    text: "NEW words.",
    note: "",
    authorId: adminId,
  });
  await activatePrompt(services, { role: "responder", version });
  const sides = await attempt({ role: "responder", question });
  expect(sides.map((side) => side.version)).toEqual([version, null]);
});
