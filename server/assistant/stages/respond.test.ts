import { type LlmReply, startLlm } from "@atelier/testing/llm";
import { createTestServices, openAccount, openOwner } from "@atelier/testing/services";
import { addNode } from "@atelier/testing/jobs";
import { eq } from "drizzle-orm";
import { describe, expect, test, vi } from "vitest";
import { schema } from "../../db/index.ts";
import { type ConfigInput, useProxies } from "../../platform/index.ts";
import { ask } from "../ask.ts";
import { capture, endStage, leaseOf, type QuestionRow, stageAt } from "../life.ts";
import { assemble } from "./assemble.ts";
import { readProposals } from "../proposals.ts";
import { respond } from "./respond.ts";

const analysis = {
  needsContext: false,
  searchKeywords: [],
  timePeriod: null,
  confidence: 1,
} as unknown as NonNullable<QuestionRow["analysis"]>;

type Replies = (owner: Awaited<ReturnType<typeof openOwner>>) => readonly LlmReply[];
type Finish = (work: () => Promise<void>) => void;

/** Answers to a question whose model says these, one after the other. */
async function answerWith(replies: Replies, onTestFinished: Finish) {
  const { services, runId, respondWith } = await openQuestion(replies, onTestFinished);
  const answer = await respondWith();
  return { answer, proposals: await readProposals(services, [runId]) };
}

/** A question that is ready to be answered. */
async function openQuestion(replies: Replies, onTestFinished: Finish, config: ConfigInput = {}) {
  const llm = await startLlm();
  onTestFinished(() => llm.close());
  const fixture = await createTestServices({ env: llm.env, config });
  onTestFinished(() => fixture.close());
  const { services } = fixture;
  // An address of the network at home costs nothing.
  const isPaid = config.assistant?.prices !== undefined;
  const env = isPaid ? { ...services.env, LLM_BASE_URL: "http://models.example/v1" } : services.env;
  if (isPaid) {
    useProxies({ HTTP_PROXY: llm.url, ALLOWED_PRIVATE_HOSTS: [] });
    onTestFinished(async () => useProxies({ ALLOWED_PRIVATE_HOSTS: [] }));
  }
  const owner = await openOwner(services, "a@example.org", openAccount);
  // A limit, which an account without an invitation needs to spend.
  if (isPaid)
    await services.db
      .insert(schema.spendingCaps)
      .values({ userId: owner.caller.userId, dailyUsd: 100, monthlyUsd: 100 });
  const painter = "t2i_flux2_klein_4b";
  const nodeId = await addNode(services, { queue: painter, needs: [`comfyui/${painter}`] });
  const { runId } = await ask(services, { ownerId: owner.caller.userId, text: "Show it." });
  const take = async (status: QuestionRow["status"]) => {
    const stage = stageAt(status);
    const run = stage && (await capture(services, { runId, stage, nodeId }));
    if (!stage || !run) throw new Error(`not captured from ${status}`);
    return { run, stage };
  };
  const analyzed = await take("new");
  await endStage(services, leaseOf(analyzed.run), { stage: analyzed.stage, set: { analysis } });
  const assembled = await take("analyzed");
  const context = await assemble(services, assembled.run);
  await endStage(services, leaseOf(assembled.run), { stage: assembled.stage, set: { context } });
  const left = [...replies(owner)];
  llm.answer = () => left.shift() ?? { text: "No more." };
  const { run } = await take("ready");
  const respondWith = (stop = new AbortController().signal) =>
    respond({ ...services, env }, run, { signal: new AbortController().signal, stop });
  return { services, runId, respondWith, left };
}

describe("E4 an answer with tools counts each of its steps, which is sent all that was said before it", () => {
  const usdPerToken = 0.00001;
  const price = { inputUsd: 10, outputUsd: 10 };
  const config: ConfigInput = { assistant: { prices: { "local/": price }, tries: 1 } };
  const tool = (imageId: string, readTokens: number): LlmReply => ({
    text: "Here: ",
    readTokens,
    // As some servers say of a step with calls.
    finishReason: readTokens > 1_000 ? "stop" : undefined,
    toolCalls: [{ name: "show_images", args: { imageIds: [imageId] } }],
  });
  const twoSteps =
    (last: LlmReply): Replies =>
    ({ imageId }) => [tool(imageId, 1_000), tool(imageId, 1_500), last];
  const readCall = async ({ services, runId }: Awaited<ReturnType<typeof openQuestion>>) => {
    const { modelCalls } = schema;
    const [call] = await services.db.select().from(modelCalls).where(eq(modelCalls.runId, runId));
    return call;
  };

  test("that its user stops", async ({ onTestFinished }) => {
    const stop = new AbortController();
    const question = await openQuestion(
      // Its end never comes.
      twoSteps({ text: "one two three four", readTokens: 2_000, until: new Promise(() => undefined) }),
      onTestFinished,
      config,
    );
    const answering = question.respondWith(stop.signal);
    await vi.waitUntil(() => question.left.length === 0, { timeout: 10_000 });
    const isExpected = async () => ((await readCall(question))?.expectedUsd ?? 0) > 2_500 * usdPerToken;
    await vi.waitUntil(isExpected, { timeout: 10_000 });
    stop.abort();
    await answering;
    const call = await readCall(question);
    expect(call?.inputTokens).toBeGreaterThanOrEqual(1_000 + 1_500 + 1_500);
    expect(call?.inputTokens).toBeLessThan(1_000 + 1_500 + 1_600);
    expect(call?.costUsd).toBeCloseTo(
      ((call?.inputTokens ?? 0) + (call?.outputTokens ?? 0)) * usdPerToken,
      8,
    );
  });

  test("whose model is refused or cut after two steps", async ({ onTestFinished }) => {
    const costs: number[] = [];
    for (const last of [{ status: 401 }, { text: "one two three", wordMs: 200, cutAfterWords: 2 }]) {
      const question = await openQuestion(twoSteps(last), onTestFinished, config);
      await expect(question.respondWith()).rejects.toBeInstanceOf(Error);
      const call = await readCall(question);
      expect(call?.inputTokens).toBe(2_500);
      costs.push((call?.costUsd ?? 0) / usdPerToken);
    }
    const [refused = 0, cut = 0] = costs;
    expect(refused).toBeGreaterThanOrEqual(2_500);
    expect(refused).toBeLessThan(2_600);
    // What the cut step wrote is not known: the most that it may have.
    expect(cut).toBeGreaterThan(refused + 1_500);
  });

  test("to its end", async ({ onTestFinished }) => {
    const question = await openQuestion(
      twoSteps({ text: "one two", readTokens: 2_000 }),
      onTestFinished,
      config,
    );
    await question.respondWith();
    expect(await readCall(question)).toMatchObject({ inputTokens: 4_500, errorClass: null });
  });
});

test("S6 pictures stand where they were shown, also in an answer that begins with blank lines", async ({
  onTestFinished,
}) => {
  const { answer } = await answerWith(
    ({ imageId }) => [
      {
        text: "\n\nHere it is: ",
        toolCalls: [{ name: "show_images", args: { imageIds: [imageId] } }],
      },
      { text: "And that is all." },
    ],
    onTestFinished,
  );
  const [part] = answer.parts;
  expect(answer.text.startsWith("Here it is:")).toBe(true);
  expect(part?.type).toBe("images");
  expect(answer.text.slice(0, part?.at).trim()).toBe("Here it is:");
  expect(answer.text.slice(part?.at).trim()).toBe("And that is all.");
});

test.for(["0", "call_0", ""])(
  "S6 each request is a proposal of its own where a server numbers its calls from %j in every answer",
  async (id, { onTestFinished }) => {
    const { answer, proposals } = await answerWith(
      () =>
        ["linen", "velvet", "linen"].map((prompt) => ({
          toolCalls: [{ id, name: "propose_job", args: { kind: "text_to_image", prompt } }],
        })),
      onTestFinished,
    );
    const promptOf = new Map(proposals.map((proposal) => [proposal.id, proposal.request.params["prompt"]]));
    const shown = answer.parts.map((part) => part.type === "proposal" && promptOf.get(part.proposalId));
    expect(shown).toEqual(["linen", "velvet", "linen"]);
    expect(proposals).toHaveLength(2);
  },
);
