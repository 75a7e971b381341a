// @module-tag all
import { inAll } from "@atelier/testing/cases";
import { startLlm, type LlmReply, type LlmRequest, textOf } from "@atelier/testing/llm";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { schema } from "../../db/index.ts";
import { newId } from "../../platform/index.ts";
import type { Services } from "../../services.ts";
import { ask } from "../ask.ts";
import { addSpeaker } from "../import-talks.ts";
import { listModelNotes } from "../model-notes.ts";
import { readClientQuestion, type QuestionView } from "../read.ts";
import { capture, completeQuestion, endStage, leaseOf, stageAt } from "../life.ts";
import { analyze, assemble, respond } from "./index.ts";
import { openVectorModel } from "./open-model.ts";

const llm = await startLlm();
let fixture: TestServices;
let services: Services;
let nodeId = "";
/** Limits that a busy machine keeps. */
const slow = { timeoutS: 30, silenceS: 30 };
beforeAll(async () => {
  const assistant = { analyzer: slow, responder: slow, retryDelayS: 0.01 };
  fixture = await createTestServices({ env: llm.env, config: { assistant } });
  ({ services } = fixture);
  nodeId = newId();
  await services.db.execute(
    `insert into nodes (id, name, state, hostname, boot_id, pid, pid_started_at, capability) select '${nodeId}', 'node', 'active', 'host', 'boot', 1, 'now', '{}'`,
  );
});
afterAll(async () => {
  await fixture.close();
  await llm.close();
});

/** The same studio with these limits of the responder, and a short one of the analyzer. */
function withTimes(times: { timeoutS: number; silenceS: number }): Services {
  const { config } = services;
  const responder = { ...config.assistant.responder, ...times };
  const analyzer = { ...config.assistant.analyzer, timeoutS: 0.5 };
  return { ...services, config: { ...config, assistant: { ...config.assistant, responder, analyzer } } };
}

let ownerId = "";
beforeEach(async () => {
  ownerId = await addSpeaker(services.db, "Ann");
  await services.db.delete(schema.modelNotes);
});

const analysis = {
  needsContext: false,
  contextType: "none",
  timeScope: null,
  searchKeywords: [],
  contextFound: [],
};
const isAnalysis = ({ messages: [first] }: LlmRequest) =>
  first !== undefined && /You prepare the work/.test(textOf(first));
/** Analyses of a well-behaved model, and these answers. */
const answering = (reply: LlmReply | ((request: LlmRequest) => LlmReply)) => (request: LlmRequest) =>
  isAnalysis(request)
    ? { text: JSON.stringify(analysis) }
    : typeof reply === "function"
      ? reply(request)
      : reply;

/** A question on its way through all stages, as a worker takes it. */
async function askAll(
  text: string,
  { on = services, ...more }: { timeZone?: string; on?: Services } = {},
): Promise<QuestionView> {
  const signal = new AbortController().signal;
  const { runId } = await ask(on, { ownerId, text, ...more });
  for (const from of ["new", "analyzed", "ready"] as const) {
    const stage = stageAt(from);
    const run = stage && (await capture(on, { runId, stage, nodeId }));
    if (!run) throw new Error(`nothing to do at ${from}`);
    const lease = leaseOf(run);
    if (from === "new")
      await endStage(on, lease, { stage, set: { analysis: await analyze(on, run, signal) } });
    else if (from === "analyzed")
      await endStage(on, lease, { stage, set: { context: await assemble(on, run) } });
    else await completeQuestion(on, lease, await respond(on, run, { signal, stop: signal }));
  }
  return readClientQuestion(on, { userId: ownerId, isAdmin: false }, runId);
}

const refusal = (message: string, status = 400): LlmReply => ({ status, message });

describe("what a model does not know is left out, and remembered for it", () => {
  test.each([
    ["tools", "registry.local/gemma does not support tools", ({ tools }: LlmRequest) => tools],
    ["tools", "tool_choice is not allowed here", ({ tools }: LlmRequest) => tools],
    ["tools", "bad request", ({ tools }: LlmRequest) => tools],
    ["temperature", "temperature: must be 1", ({ temperature }: LlmRequest) => temperature],
    ["system", "roles must alternate user/assistant", hasSystem],
    ["system", "System role not supported", hasSystem],
    ["stream_options", "Unknown field", (request: LlmRequest) => request["stream_options"]],
    ["max_tokens", "use 'max_completion_tokens'", (request: LlmRequest) => request["max_tokens"]],
    ["stream", "streaming is off", ({ stream }: LlmRequest) => stream],
  ] as const)("%s: %s", async (feature, words, isAsked) => {
    const from = llm.requests.length;
    llm.answer = answering((request) => (isAsked(request) ? refusal(words) : { text: "Linen." }));
    expect(await askAll("What do I like?")).toMatchObject({ status: "completed", answer: "Linen." });
    expect(await listModelNotes(services)).toMatchObject([{ model: "local/simulated", refused: [feature] }]);
    const first = llm.requests.length - from;
    await askAll("And what not?");
    const second = llm.requests.slice(from + first).filter((request) => !isAnalysis(request));
    expect(second).toHaveLength(1);
    expect(second.every((request) => !isAsked(request))).toBe(true);
  });

  test("what a model refused is stored before its answer counts, also in a slow database", async () => {
    const isAsked = ({ temperature }: LlmRequest) => temperature;
    llm.answer = answering((request) =>
      isAsked(request) ? refusal("temperature: must be 1") : { text: "Linen." },
    );
    const db = new Proxy(services.db, {
      get(target, name, receiver) {
        if (name !== "insert") return Reflect.get(target, name, receiver) as unknown;
        return (table: typeof schema.modelNotes) => {
          const insert = target.insert(table);
          if (table !== schema.modelNotes) return insert;
          type Values = Parameters<typeof insert.values>[0];
          type Conflict = Parameters<ReturnType<typeof insert.values>["onConflictDoUpdate"]>[0];
          return {
            values: (values: Values) => ({
              onConflictDoUpdate: async (conflict: Conflict) => {
                await services.db.execute("select pg_sleep(0.3)");
                return insert.values(values).onConflictDoUpdate(conflict);
              },
            }),
          };
        };
      },
    });
    await askAll("What do I like?", { on: { ...services, db } });
    expect(await listModelNotes(services)).toMatchObject([{ refused: ["temperature"] }]);
  });

  test.each([400, 422, 500])("a form of JSON that is refused with %i costs no question", async (status) => {
    const refuses = ({ response_format: format }: LlmRequest) => format !== undefined;
    llm.answer = (request) =>
      refuses(request)
        ? refusal("json_schema is not supported", status)
        : isAnalysis(request)
          ? { text: `Sure!\n\`\`\`json\n${JSON.stringify(analysis)}\n\`\`\`` }
          : { text: "Linen." };
    expect(await askAll("What do I like?")).toMatchObject({ status: "completed", answer: "Linen." });
    expect(await listModelNotes(services)).toMatchObject([{ refused: ["json", "json_schema"] }]);
  });

  test("two things at once, and a server that fails instead of refusing", async () => {
    const isTooMuch = ({ tools, temperature }: LlmRequest) =>
      tools !== undefined || temperature !== undefined;
    llm.answer = answering((request) => (isTooMuch(request) ? refusal("panic", 500) : { text: "Linen." }));
    expect(await askAll("What do I like?")).toMatchObject({ status: "completed", answer: "Linen." });
  });

  test.each([
    [400, "Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details."],
    [500, "error parsing tool call: raw='ls -R', err=invalid character 'l' looking for beginning of value"],
    [500, "Failed to parse tool call arguments as JSON: unexpected end of input"],
    [500, "Failed to parse input at pos 184: <tool_call>bash"],
    [500, "XML syntax error on line 3: element <parameter> closed by </function>"],
  ])("what a model wrote and its server cannot read (%i %s) takes no tools away", async (status, words) => {
    let isFirst = true;
    llm.answer = answering(() => {
      if (!isFirst) return { text: "Linen." };
      isFirst = false;
      return refusal(words, status);
    });
    const from = llm.requests.length;
    expect(await askAll("What do I like?")).toMatchObject({ status: "completed", answer: "Linen." });
    const sent = llm.requests.slice(from).filter((request) => !isAnalysis(request));
    expect(sent.map(({ tools = [] }) => tools.length > 0)).toEqual([true, true]);
    expect(await listModelNotes(services)).toEqual([]);
    // One that never manages it answers in words, and is asked for tools again by the next question.
    llm.answer = answering(({ tools }) => (tools ? refusal(words, status) : { text: "Wool." }));
    expect(await askAll("And what not?")).toMatchObject({ answer: "Wool." });
    expect(await listModelNotes(services)).toEqual([]);
  });

  test("a wrong key or name costs two requests, and is told as the server has it", async () => {
    const from = llm.requests.length;
    llm.answer = answering(refusal("model 'simulated' not found", 400));
    await expect(askAll("What do I like?")).rejects.toMatchObject({ class: "refused" });
    expect(llm.requests.slice(from).filter((request) => !isAnalysis(request))).toHaveLength(2);
    expect(await listModelNotes(services)).toEqual([]);
  });
});

function hasSystem({ messages }: LlmRequest): boolean {
  return messages.some(({ role }) => role === "system" || role === "developer");
}

describe("time", () => {
  test("an answer that grows is not cut, however long it takes", inAll, async () => {
    const text = "one two three four five six seven eight nine ten ".repeat(2).trim();
    llm.answer = answering({ text, wordMs: 500 });
    // Its words take ten seconds, longer than the first one is waited for.
    const on = withTimes({ timeoutS: 8, silenceS: 30 });
    expect(await askAll("Count.", { on })).toMatchObject({ status: "completed", answer: text });
  });

  test.each([
    [
      "does not begin",
      { delayMs: Infinity },
      { ...slow, timeoutS: 2 },
      "The language model did not answer in time.",
    ],
    [
      "falls silent",
      { text: "one two three", wordMs: 60_000 },
      { ...slow, silenceS: 2 },
      "The language model fell silent in the middle of its answer.",
    ],
  ])("a model that %s fails the question once, with its sentence", async (_what, reply, times, message) => {
    const from = llm.requests.length;
    llm.answer = answering(reply);
    await expect(askAll("Count.", { on: withTimes(times) })).rejects.toMatchObject({
      class: "timeout",
      message,
    });
    expect(llm.requests.slice(from).filter((request) => !isAnalysis(request))).toHaveLength(1);
  });

  test.each([
    ["late", { delayMs: Infinity }],
    ["broken", refusal("out of memory", 500)],
    ["limited", { status: 429, headers: { "retry-after": "0.01" } }],
    ["nonsense", { text: "I would rather not." }],
  ])("an analyzer that is %s costs no question: rules decide", async (_what, reply) => {
    llm.answer = (request) => (isAnalysis(request) ? reply : { text: "Linen." });
    expect(await askAll("What do I like?", { on: withTimes(slow) })).toMatchObject({
      status: "completed",
      answer: "Linen.",
    });
  });
});

describe("thinking is no part of an answer", () => {
  test.each([
    ["<think>She likes\nlinen.</think>\n\nLinen.", "She likes\nlinen."],
    ["She likes linen.</think>Linen.", "She likes linen."],
    ["<thinking>She likes linen.</thinking>Linen.", "She likes linen."],
    ["[THINK]She likes linen.[/THINK]Linen.", "She likes linen."],
    ["◁think▷She likes linen.◁/think▷Linen.", "She likes linen."],
    [
      "<|channel|>analysis<|message|>She likes linen.<|end|><|start|>assistant<|channel|>final<|message|>Linen.",
      "She likes linen.",
    ],
    ["<think></think>Linen.", ""],
  ])("%s", async (text, thinking) => {
    llm.answer = answering({ text });
    expect(await askAll("What do I like?")).toMatchObject({ answer: "Linen.", thinking });
  });

  test("thoughts in a field of their own, which no later question is given", async () => {
    llm.answer = answering({ reasoning: "A canary thought.", text: "Linen." });
    expect(await askAll("What do I like?")).toMatchObject({
      answer: "Linen.",
      thinking: "A canary thought.",
    });
    const logged = await services.db.select().from(schema.assistantMessages);
    expect(JSON.stringify(logged)).not.toContain("canary");
  });

  test.each([
    [{ text: "" }, /an empty answer/],
    [{ text: "  \n" }, /an empty answer/],
    [{ reasoning: "Hm.", text: "" }, /thought, and then gave no answer/],
    [{ text: "<think>Hm." }, /thought, and then gave no answer/],
    [{ reasoning: "Hm.", text: "", finishReason: "length" }, /all of its 2000 tokens on thinking/],
  ] as const)("no answer is an error with a sentence: %o", async (reply, message) => {
    llm.answer = answering(reply);
    await expect(askAll("What do I like?")).rejects.toMatchObject({
      class: "empty",
      message: expect.stringMatching(message),
    });
  });

  test("words in quotes of code stay words", async () => {
    const text = "Write `<think>` first.";
    llm.answer = answering({ text });
    expect(await askAll("How?")).toMatchObject({ answer: text, thinking: "" });
  });
});

test.each([
  ["a page of a proxy", { type: "text/html", body: "<html>Sign in</html>" }],
  ["JSON of another program", { type: "application/json", body: '{"foo":1}' }],
  ["a list", { type: "application/json", body: "[]" }],
  ["nothing", { type: "text/plain", body: "" }],
])("an answer 200 that is %s says what to check", async (_what, raw) => {
  llm.answer = answering({ raw });
  await expect(askAll("What do I like?")).rejects.toMatchObject({
    class: "not_api",
    message: expect.stringMatching(
      /^http:\/\/127\.0\.0\.1:\d+\/v1 answers, but not as a language model does/,
    ),
  });
});

test("an answer without end is cut at a few times the tokens that it may have", async () => {
  llm.answer = answering({ raw: { type: "text/event-stream", body: event("word ".repeat(600_000)) } });
  const { answer } = await askAll("Count.");
  expect(answer.length).toBeLessThanOrEqual(2_000 * 16 + 2);
  expect(answer.length).toBeGreaterThan(20_000);
});

const event = (content: string) =>
  `data: ${JSON.stringify({ id: "1", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, delta: { role: "assistant", content }, finish_reason: null }] })}\n\n`;

test("a server that reads only the end of a question is noticed by its count", async () => {
  llm.answer = answering({ text: "Linen.", readTokens: 400 });
  await askAll("Short?");
  expect(await listModelNotes(services)).toEqual([]);
  await askAll("I like linen, wool; cotton & silk! ".repeat(225));
  const [note] = await listModelNotes(services);
  expect(note).toMatchObject({ model: "local/simulated", readTokens: 400 });
  expect(note?.sentTokens).toBeGreaterThan(2_000);
});

test("today is the day of the user", async () => {
  const from = llm.requests.length;
  llm.answer = answering({ text: "Linen." });
  const zones = ["Pacific/Kiritimati", "Pacific/Pago_Pago", "Asia/Kolkata"];
  // A day ends in each of them at an hour of its own.
  vi.useFakeTimers({ toFake: ["Date"] });
  onTestFinished(() => void vi.useRealTimers());
  for (const timeZone of zones) await askAll("What day is it?", { timeZone });
  await askAll("And now?", { timeZone: "Mars/Olympus" });
  const days = llm.requests
    .slice(from)
    .map(({ messages }) => /\d{4}-\d\d-\d\d \(\w+\)/.exec(messages.map(textOf).join("\n"))?.[0]);
  const dayIn = (timeZone: string) => {
    const day = new Intl.DateTimeFormat("en-CA", { timeZone }).format(new Date());
    return `${day} (${new Intl.DateTimeFormat("en", { timeZone, weekday: "long" }).format(new Date())})`;
  };
  const wanted = [...zones, "Asia/Kolkata"].flatMap((zone) => [dayIn(zone), dayIn(zone)]);
  expect(days).toEqual(wanted);
  expect(dayIn("Pacific/Kiritimati")).not.toBe(dayIn("Pacific/Pago_Pago"));
});

test("a deployment of Azure is asked with its version and its own header of the key", async () => {
  const azure = await startLlm({ azureKey: "canary-of-azure" });
  onTestFinished(() => azure.close());
  azure.answer = answering({ text: "Linen." });
  const on = { ...services, env: { ...services.env, ...azure.env } };
  expect(await askAll("What do I like?", { on })).toMatchObject({ status: "completed", answer: "Linen." });
  const vectors = await openVectorModel(on, "local/simulated");
  if (typeof vectors === "string") throw new Error("no model");
  expect((await vectors.doEmbed({ values: ["linen"] })).embeddings).toHaveLength(1);
});

/** What the call of a tool came with, as the model is to be given it back with the answer of the tool. */
const isGivenBack = (
  { messages }: LlmRequest,
  { thought, signature }: { thought: string; signature: string },
) =>
  messages.some(
    (message) =>
      message.role === "assistant" &&
      message["reasoning_content"] === thought &&
      JSON.stringify(message["tool_calls"]).includes(signature),
  );

test("a thinking model is given its thoughts and their signatures back within a question, and loses no tools", async () => {
  const given = { thought: "Which one? ", signature: "c2lnbmVk" };
  // A call of almost the right form is mended on its way.
  const calls = [{ query: "linen" }, { query: "linen", limit: "3" }].map((args) => ({
    name: "search_gallery.v1",
    args,
    signature: given.signature,
  }));
  llm.answer = answering((request) => {
    if (request.messages.at(-1)?.role !== "tool") return { reasoning: given.thought, toolCalls: calls };
    return isGivenBack(request, given)
      ? { text: "Linen." }
      : refusal("Function call is missing a thought_signature in functionCall parts.");
  });
  expect(await askAll("What do I like?")).toMatchObject({ status: "completed", answer: "Linen." });
  expect(await listModelNotes(services)).toEqual([]);
});

test("a model at home is waited for when `fetch` would give it up, as after five minutes of silence", async () => {
  const cause = Object.assign(new Error("Headers Timeout Error"), { code: "UND_ERR_HEADERS_TIMEOUT" });
  const giveUp = vi.spyOn(globalThis, "fetch").mockRejectedValue(new TypeError("fetch failed", { cause }));
  onTestFinished(() => giveUp.mockRestore());
  llm.answer = answering({ text: "Linen." });
  expect(await askAll("What do I like?")).toMatchObject({ status: "completed", answer: "Linen." });
});
