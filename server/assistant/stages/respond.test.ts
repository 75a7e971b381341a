import { startLlm } from "@atelier/testing/llm";
import { createTestServices, openAccount, openOwner } from "@atelier/testing/services";
import { addNode } from "@atelier/testing/jobs";
import { expect, test } from "vitest";
import { ask } from "../ask.ts";
import { capture, endStage, leaseOf, type QuestionRow, stageAt } from "../life.ts";
import { assemble } from "./assemble.ts";
import { respond } from "./respond.ts";

const analysis = {
  needsContext: false,
  searchKeywords: [],
  timePeriod: null,
  confidence: 1,
} as unknown as NonNullable<QuestionRow["analysis"]>;

test("S6 pictures stand where they were shown, also in an answer that begins with blank lines", async ({
  onTestFinished,
}) => {
  const llm = await startLlm();
  onTestFinished(() => llm.close());
  const fixture = await createTestServices({ env: llm.env });
  onTestFinished(() => fixture.close());
  const { services } = fixture;
  const owner = await openOwner(services, "a@example.org", openAccount);
  const nodeId = await addNode(services);
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
  let step = 0;
  llm.answer = () => {
    step += 1;
    if (step > 1) return { text: "And that is all." };
    return {
      text: "\n\nHere it is: ",
      toolCalls: [{ name: "show_images", args: { imageIds: [owner.imageId] } }],
    };
  };
  const { run } = await take("ready");
  const { signal } = new AbortController();
  const answer = await respond(services, run, { signal, stop: signal });
  const [part] = answer.parts;
  expect(answer.text.startsWith("Here it is:")).toBe(true);
  expect(part?.type).toBe("images");
  expect(answer.text.slice(0, part?.at).trim()).toBe("Here it is:");
  expect(answer.text.slice(part?.at).trim()).toBe("And that is all.");
});
