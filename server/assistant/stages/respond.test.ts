import { type LlmReply, startLlm } from "@atelier/testing/llm";
import { createTestServices, openAccount, openOwner } from "@atelier/testing/services";
import { addNode } from "@atelier/testing/jobs";
import { expect, test } from "vitest";
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

/** Answers to a question whose model says these, one after the other. */
async function answerWith(
  replies: (owner: Awaited<ReturnType<typeof openOwner>>) => readonly LlmReply[],
  onTestFinished: (work: () => Promise<void>) => void,
) {
  const llm = await startLlm();
  onTestFinished(() => llm.close());
  const fixture = await createTestServices({ env: llm.env });
  onTestFinished(() => fixture.close());
  const { services } = fixture;
  const owner = await openOwner(services, "a@example.org", openAccount);
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
  const { signal } = new AbortController();
  const answer = await respond(services, run, { signal, stop: signal });
  return { answer, proposals: await readProposals(services, [runId]) };
}

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
