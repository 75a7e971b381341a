// @module-tag all
import { resolveCaller } from "@atelier/server/accounts";
import { ask, readConversation, readClientQuestion } from "@atelier/server/assistant";
import { expect, test } from "vitest";
import { forCases, realTimeMs, inAll } from "../cases/index.ts";
import { type Llm, type LlmReply, type LlmRequest, startLlm } from "../llm/index.ts";
import { createTestServices, openAccount } from "../services/index.ts";
import { startTestWorker } from "../worker/index.ts";
import { eventually } from "./scene.ts";

const timeout = { timeout: realTimeMs };

const isAnalysis = (request: LlmRequest) => request.response_format !== undefined;
const analysis: LlmReply = {
  text: JSON.stringify({
    needsContext: false,
    contextType: "none",
    timeScope: null,
    searchKeywords: [],
    contextFound: [],
  }),
};
const answer = "You like linen, and a long coat for the autumn.";

/** A studio with a simulated model and one question. */
async function openTalk(onTestFinished: (close: () => Promise<void>) => void) {
  const llm: Llm = await startLlm();
  onTestFinished(() => llm.close());
  const fixture = await createTestServices({ env: llm.env });
  onTestFinished(() => fixture.close());
  const { services } = fixture;
  const account = await openAccount(services, "ann@example.com");
  const caller = await resolveCaller(services, account.headers);
  const ownerId = caller?.userId ?? "";
  const startWorker = async (name: string) => {
    const worker = await startTestWorker(services, { name });
    onTestFinished(() => worker.kill9());
    return worker;
  };
  const read = (id: string) => readClientQuestion(services, { userId: ownerId, isAdmin: false }, id);
  return {
    llm,
    services,
    ownerId,
    startWorker,
    read,
    ask: () => ask(services, { ownerId, text: "What do I like?" }),
  };
}

const forEver = new Promise<void>(() => undefined);

/** Which request of the model hangs for the first worker, and how. */
const stages = [
  { stage: "analyzer", hangs: isAnalysis, reply: { delayMs: Infinity }, status: "analyzing" },
  {
    stage: "responder, before its first word",
    hangs: (request: LlmRequest) => !isAnalysis(request),
    reply: { delayMs: Infinity },
    status: "responding",
  },
  {
    stage: "responder, in the middle of the answer",
    hangs: (request: LlmRequest) => !isAnalysis(request),
    reply: { text: "You like nothing at all and nobody ever said a word about it", until: forEver },
    status: "responding",
  },
] as const;

forCases(
  "B1 B2 a worker killed in the $stage: another one answers, once and whole",
  { usual: stages.slice(2), others: stages.slice(0, 2) },
  async ({ hangs, reply, status }, { onTestFinished }) => {
    const talk = await openTalk(onTestFinished);
    const { llm, services, ownerId, read } = talk;
    let hasHung = false;
    llm.answer = (request) => {
      if (!hasHung && hangs(request)) {
        hasHung = true;
        return reply;
      }
      return isAnalysis(request) ? analysis : { text: answer };
    };
    const first = await talk.startWorker("first");
    const { runId, conversationId } = await talk.ask();
    await eventually(() => Promise.resolve(hasHung), true);
    expect((await read(runId)).status).toBe(status);
    await first.kill9();
    await talk.startWorker("second");
    await eventually(async () => (await read(runId)).status, "completed");
    const { turns } = await readConversation(services, { ownerId, id: conversationId });
    expect(turns.map((turn) => turn.answer)).toEqual([answer]);
    const answers = await services.db.execute("select from assistant_messages where role = 'assistant'");
    expect(answers).toHaveLength(1);
  },
);

test.concurrent(
  "A17 a worker that stops gives its stage back at once, at no loss",
  { ...timeout, ...inAll },
  async ({ onTestFinished }) => {
    const talk = await openTalk(onTestFinished);
    const { llm, services, read } = talk;
    let isHeld = false;
    llm.answer = (request) => {
      if (isAnalysis(request)) return analysis;
      if (isHeld) return { text: answer };
      isHeld = true;
      return { delayMs: Infinity };
    };
    const first = await talk.startWorker("first");
    const { runId } = await talk.ask();
    // The run says that it responds before the model has its request.
    await eventually(() => Promise.resolve(isHeld), true);
    expect((await read(runId)).status).toBe("responding");
    expect(await first.term()).toBe(0);
    expect((await read(runId)).status).toBe("ready");
    await talk.startWorker("second");
    await eventually(async () => (await read(runId)).status, "completed");
    const rows = await services.db.execute<{ losses: number }>("select losses from assistant_runs");
    expect(rows).toMatchObject([{ losses: 0 }]);
  },
);

test.concurrent(
  "B3 a run whose notice nobody heard is found by the sweep; a stream that is cut begins anew",
  { ...timeout, ...inAll },
  async ({ onTestFinished }) => {
    const talk = await openTalk(onTestFinished);
    const { llm, read } = talk;
    let answers = 0;
    llm.answer = (request) => {
      if (isAnalysis(request)) return analysis;
      answers += 1;
      return answers === 1 ? { text: "You like nothing at all", cutAfterWords: 2 } : { text: answer };
    };
    // Asked while no worker lives.
    const { runId } = await talk.ask();
    await talk.startWorker("only");
    await eventually(async () => (await read(runId)).status, "completed");
    expect((await read(runId)).answer).toBe(answer);
  },
);
