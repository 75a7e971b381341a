import { addNode, addOwner, type TestOwner } from "@atelier/testing/jobs";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { schema } from "../../db/index.ts";
import { ask } from "../ask.ts";
import { toolsFor } from "./tools.ts";

let opened: TestServices;
let owner: TestOwner;
beforeAll(async () => {
  opened = await createTestServices();
  owner = await addOwner(opened.services);
  for (const workflow of ["t2i_flux2_klein_4b", "t2i_flux1_style", "t2i_z_image_turbo_structure"])
    await addNode(opened.services, { queue: workflow, needs: [`comfyui/${workflow}`] });
});
afterAll(() => opened.close());

/** What a call of the tool answers, with the inputs of the job that it proposed. */
async function propose(pictures: Readonly<Record<string, string>>) {
  const { services } = opened;
  const { runId: id } = await ask(services, { ownerId: owner.userId, text: "Make it." });
  await services.db
    .update(schema.assistantRuns)
    .set({ status: "completed", revision: 2 })
    .where(eq(schema.assistantRuns.id, id));
  const shown: unknown[] = [];
  const context = { run: { id }, submitter: owner, show: (part: unknown) => shown.push(part) };
  // Safe casts: the tool reads no more of the run, and its input is what a model sends.
  const { propose_job: tool } = toolsFor(services, context as never);
  const input = { kind: "text_to_image", prompt: "a cat", ...pictures };
  const answer: unknown = await tool?.execute?.(input as never, { toolCallId: id, messages: [] } as never);
  const [stored] = await services.db.select().from(schema.proposals).where(eq(schema.proposals.runId, id));
  return { answer, inputs: stored?.request["inputs"], shown: shown.length };
}

test.each(["reference", "style", "structure"])(
  "a model proposes a picture with one of the gallery as its %s, and no foreign one",
  async (role) => {
    const own = await propose({ [role]: owner.imageId });
    expect(own).toMatchObject({ inputs: { [role]: owner.imageId }, shown: 1 });
    const other = await addOwner(opened.services);
    const foreign = await propose({ [role]: other.imageId });
    expect(foreign).toMatchObject({ answer: { error: expect.any(String) }, inputs: undefined, shown: 0 });
  },
);
