import { addUser } from "@atelier/testing/pictures";
import { answerByRules, startLlm, textOf } from "@atelier/testing/llm";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { schema } from "../db/index.ts";
import { improvePrompt, improveSchema } from "./improve.ts";

const llm = await startLlm();
let opened: TestServices;
let ownerId: string;

beforeAll(async () => {
  opened = await createTestServices({
    env: llm.env,
    config: { assistant: { responder: { timeoutS: 30 } } },
  });
});
beforeEach(async () => {
  ownerId = await addUser(opened.services);
});
afterAll(async () => {
  await opened.close();
  await llm.close();
});

const improve = (prompt: string, signal = new AbortController().signal, on = opened.services) =>
  improvePrompt(on, { ...improveSchema.parse({ prompt }), ownerId, signal });
const calls = () =>
  opened.services.db.select().from(schema.modelCalls).where(eq(schema.modelCalls.ownerId, ownerId));

test("the simulator that is tried by hand improves a prompt and keeps its choices", async () => {
  llm.answer = answerByRules;
  const { prompt, problem } = await improve("a {red|blue} fox in __light__");
  expect(problem).toBeNull();
  expect(prompt).toMatch(/^a \{red\|blue\} fox in __light__, /);
});

test("a better prompt is asked for once, with the prompt alone, and counted as the user's", async () => {
  const from = llm.requests.length;
  llm.answer = () => ({ text: 'Gladly: {"prompt": " a {red|blue} fox in fresh snow, low sun "}' });
  expect(await improve("a {red|blue} fox")).toEqual({
    prompt: "a {red|blue} fox in fresh snow, low sun",
    problem: null,
  });
  const sent = llm.requests.slice(from);
  expect(sent).toHaveLength(1);
  expect(sent[0]?.messages.map(textOf).at(-1)).toBe('{"prompt":"a {red|blue} fox"}');
  expect(await calls()).toMatchObject([{ stage: "improvement", runId: null, try: 1, errorClass: null }]);
});

test.each([
  ["no JSON", "I cannot.", "cannot be read"],
  ["broken choices", '{"prompt": "a {red|blue fox"}', "broke the choices"],
  ["far too long", JSON.stringify({ prompt: "x".repeat(5_000) }), "cannot be read"],
])("an answer is not shown as a prompt: %s", async (_name, text, problem) => {
  llm.answer = () => ({ text });
  expect(await improve("a fox")).toEqual({ prompt: null, problem: expect.stringContaining(problem) });
});

test("choices, lists and weights come back as they were, or the answer is not shown", async () => {
  const prompt = "a {red|{light|dark} blue} fox, __season__, (film:1.2)";
  const said = (text: string) => {
    llm.answer = () => ({ text: JSON.stringify({ prompt: text }) });
    return improve(prompt);
  };
  const better = `In low sun ${prompt}, wide view`;
  expect(await said(better)).toEqual({ prompt: better, problem: null });
  for (const lost of [
    better.replace("__season__", "in spring"),
    better.replace("{light|dark}", "{light|pale}"),
    better.replace("(film:1.2)", "film"),
    `${better}, __mood__`,
  ])
    expect(await said(lost)).toEqual({
      prompt: null,
      problem: expect.stringContaining("changed the choices"),
    });
});

test("a model that is silent ends the call in its time, and leaving the page at once", async () => {
  llm.answer = () => ({ delayMs: Infinity });
  const { config } = opened.services;
  const responder = { ...config.assistant.responder, timeoutS: 1 };
  const hasty = {
    ...opened.services,
    config: { ...config, assistant: { ...config.assistant, responder } },
  };
  expect(await improve("a fox", undefined, hasty)).toEqual({
    prompt: null,
    problem: expect.stringContaining("in time"),
  });
  const leaving = new AbortController();
  const left = improve("a fox", leaving.signal);
  leaving.abort(new Error("left"));
  await expect(left).rejects.toThrow("left");
});

test("without a model there is a reason, and too many in a minute are refused", async () => {
  const bare = {
    ...opened.services,
    env: { ...opened.services.env, LLM_RESPONDER_MODEL: "openai/none", OPENAI_API_KEY: undefined },
  };
  expect(await improve("a fox", undefined, bare)).toMatchObject({ prompt: null });
  llm.answer = () => ({ text: '{"prompt": "a fox"}' });
  for (let run = 0; run < 10; run += 1) await improve("a fox");
  await expect(improve("a fox")).rejects.toMatchObject({ code: "rate_limited" });
});
