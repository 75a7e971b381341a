import { startLlm } from "@atelier/testing/llm";
import {
  captureLog,
  createTestServices,
  openAdmin,
  openGuest,
  openOwner,
  testOrigin,
  type TestOwner,
  type TestServices,
} from "@atelier/testing/services";
import superjson from "superjson";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { handleTrpc } from "../index.ts";

const llm = await startLlm();
const { log, lines } = captureLog();
let fixture: TestServices;
let admin: TestOwner;
beforeAll(async () => {
  fixture = await createTestServices({ log, env: llm.env });
  admin = await openOwner(fixture.services, "admin@example.com", openAdmin);
});
afterAll(async () => {
  await fixture.close();
  await llm.close();
});
beforeEach(() => {
  lines.length = 0;
});

function post(name: string, input: unknown, signal = new AbortController().signal): Promise<Response> {
  const request = new Request(`${testOrigin}/api/trpc/admin.assistant.${name}`, {
    method: "POST",
    headers: { ...Object.fromEntries(admin.browser.headers), "content-type": "application/json" },
    body: superjson.stringify(input),
    signal,
  });
  return handleTrpc(fixture.services, request);
}

const trial = (question: string) => ({ role: "responder", candidate: { text: "A draft canary." }, question });

test("a guest asks where no stage of a question may cost", async () => {
  const home = { LLM_BASE_URL: "http://127.0.0.1:9/v1", OPENAI_API_KEY: "none" };
  const stages = { LLM_ANALYZER_MODEL: "small", LLM_RESPONDER_MODEL: "small", LLM_ARCHIVIST_MODEL: "small" };
  const guest = await openGuest(fixture.services);
  const mayAsk = async (env: Record<string, string>, { headers }: { readonly headers: Headers }) => {
    const services = { ...fixture.services, env: { ...fixture.services.env, ...home, ...stages, ...env } };
    const request = new Request(`${testOrigin}/api/trpc/assistant.status`, { headers });
    const { result } = await (await handleTrpc(services, request)).json();
    return superjson.deserialize(result.data);
  };
  expect(await mayAsk({}, guest)).toMatchObject({ mayAsk: true });
  for (const paid of [...Object.keys(stages), "LLM_EMBEDDING_MODEL"]) {
    expect(await mayAsk({ [paid]: "openai/any" }, guest)).toMatchObject({ mayAsk: false });
    expect(await mayAsk({ [paid]: "openai/any" }, admin.browser)).toMatchObject({ mayAsk: true });
  }
});

const readCalls = () => fixture.services.db.query.modelCalls.findMany();

test("S9 acts on prompts are audited: who, what, and no word of a prompt or a question", async () => {
  expect((await post("tryPrompt", trial("A question canary?"))).status).toBe(200);
  expect(
    (await post("addPrompt", { role: "responder", text: "A stored canary.", note: "a note" })).status,
  ).toBe(200);
  expect((await post("activatePrompt", { role: "responder", version: 2 })).status).toBe(200);
  const audited = lines.map((line) => JSON.parse(line)).filter(({ audit }) => audit === true);
  const by = { adminId: expect.any(String), code: "ok" };
  expect(audited).toMatchObject([
    { ...by, action: "admin.assistant.tryPrompt", input: { role: "responder" } },
    { ...by, action: "admin.assistant.addPrompt", input: { role: "responder" } },
    { ...by, action: "admin.assistant.activatePrompt", input: { role: "responder", version: 2 } },
  ]);
  expect(lines.join("\n")).not.toContain("canary");
});

test("an admin who leaves the page ends the calls, and no more than two trials are under way", async () => {
  const before = (await readCalls()).length;
  const from = llm.requests.length;
  llm.answer = () => ({ delayMs: Infinity });
  const left = new AbortController();
  const tries = [1, 2].map(() => post("tryPrompt", trial("And now?"), left.signal));
  await expect.poll(() => llm.requests.length - from).toBe(4);
  const third = await post("tryPrompt", trial("And now?"));
  expect(third.status).toBe(429);
  expect(await third.text()).toContain("Too many prompts are tried at once.");
  left.abort();
  await Promise.all(tries);
  const calls = (await readCalls()).slice(before);
  expect(calls.map(({ errorClass }) => errorClass)).toEqual(Array.from({ length: 4 }, () => "cancelled"));
});

test("D10 a live stream that breaks off has told no time of which the questions before it are not told", async () => {
  const response = await handleTrpc(
    fixture.services,
    new Request(`${testOrigin}/api/trpc/jobs.watch`, { headers: admin.browser.headers }),
  );
  const events: unknown[] = [];
  const decoder = new TextDecoder();
  let text = "";
  for await (const bytes of response.body ?? []) {
    text += decoder.decode(bytes, { stream: true });
    const ended = text.split("\n\n");
    text = ended.pop() ?? "";
    for (const event of ended) {
      const data = /^data: (\{.*\})$/m.exec(event)?.[1];
      if (data !== undefined && !event.includes("event: ")) events.push(JSON.parse(data).json);
    }
    if (events.length > 1) break;
  }
  // A client resumes from the last `at`.
  expect(events).toMatchObject([
    { type: "runs", runs: [{ question: "What do I like?" }] },
    { type: "snapshot", at: expect.any(String) },
  ]);
});
