import { eq } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { addImage, addNode, readJob } from "@atelier/testing/jobs";
import { openJobScene } from "@atelier/testing/scenes";
import { schema, tiers } from "../db/index.ts";
import type { Need } from "../engines.ts";
import { cancel } from "./cancel.ts";
import { retry, retryAny } from "./retry.ts";
import { submit } from "./submit.ts";

const scene = openJobScene({ isEmptied: true });

async function cancelled(request: object) {
  const { services } = scene;
  const { id } = await submit(services, request, { submitter: scene.owner });
  await cancel(services, { ownerId: scene.owner.userId, id });
  return readJob(services, id);
}

async function again(id: string) {
  const { services } = scene;
  const submitted = await retry(services, { submitter: scene.owner, id });
  return readJob(services, submitted.id);
}

describe("E8 a job runs again as it was asked for", () => {
  test.each([
    {
      workflow: "tryon_qwen_edit_2511",
      kind: "outfit_change",
      roles: ["person", "garment"],
      params: { consent: true },
    },
    { workflow: "inpaint_flux_fill", kind: "inpaint", roles: ["image", "mask"], params: {} },
    { workflow: "upscale_hires_fix", kind: "upscale", roles: ["image"], params: {} },
    { workflow: "cpu_composite_no_model", kind: "edit", roles: ["image", "reference", "mask"], params: {} },
  ])("by $workflow without words", async ({ workflow, kind, roles, params }) => {
    const { services } = scene;
    await addNode(services, { queue: "gpu-high", needs: [`comfyui/${workflow}`] });
    const inputs: Record<string, string> = {};
    for (const role of roles) inputs[role] = await addImage(services, scene.owner.userId);
    const { images } = schema;
    if (inputs["mask"])
      await services.db.update(images).set({ role: "mask" }).where(eq(images.id, inputs["mask"]));
    const job = await cancelled({ kind, workflow, inputs, params });
    expect(job.params).not.toHaveProperty("prompt");
    // What was stated with the first one is looked up.
    const { consent: _stated, ...kept } = job.params;
    const next = await again(job.id);
    expect(next).toMatchObject({ retryOf: job.id, workflow });
    expect(next.params).toEqual(kept);
  });

  test("a workflow that was not named is chosen anew, with its own defaults", async () => {
    const { services } = scene;
    const lend = (need: Need) => addNode(services, { queue: "gpu-high", needs: [need] });
    const nodeId = await lend("comfyui/t2i_sdxl");
    const request = { kind: "text_to_image", params: { prompt: "a chair", steps: 12 } };
    const job = await cancelled(request);
    const named = await cancelled({ ...request, workflow: "t2i_sdxl" });
    await services.db.delete(schema.nodes).where(eq(schema.nodes.id, nodeId));
    await lend("comfyui/t2i_sd15");
    const { params } = await again(job.id);
    expect(params).toMatchObject({ steps: 12, width: 512, seed: job.params["seed"] });
    await expect(again(named.id)).rejects.toMatchObject({ code: "no_engine" });
  });

  test("a low tier is kept; a raised one only where an admin asks", async () => {
    const { services } = scene;
    await addNode(services);
    const request = { kind: "upscale", inputs: { image: scene.owner.imageId } };
    const low = await cancelled({ ...request, tier: "low" });
    expect((await again(low.id)).tier).toBe(tiers.low);
    const { id } = await submit(
      services,
      { ...request, tier: "high" },
      { submitter: { ...scene.owner, isAdmin: true } },
    );
    await cancel(services, { ownerId: scene.owner.userId, id });
    const lowered = await again(id);
    expect(lowered.tier).toBe(tiers.normal);
    await cancel(services, { ownerId: scene.owner.userId, id: lowered.id });
    const kept = await retryAny(services, { id });
    expect((await readJob(services, kept.id)).tier).toBe(tiers.high);
  });

  test("E5 an admin's repeat counts for the key of the job, and is no part of a task that has ended", async () => {
    const { services, owner } = scene;
    const request = { kind: "upscale", inputs: { image: owner.imageId }, sessionId: "mcp:task:ended" };
    const { id } = await submit(services, request, { submitter: { ...owner, keyId: "the key" } });
    await cancel(services, { ownerId: owner.userId, id });
    const repeat = await readJob(services, (await retryAny(services, { id })).id);
    expect([repeat.apiKeyId, repeat.sessionId]).toEqual(["the key", null]);
  });

  test("the owner and an admin who ask at the same moment get one job, whatever its tier", async () => {
    const { services, owner } = scene;
    await addNode(services);
    for (let round = 0; round < 10; round += 1) {
      const request = { kind: "upscale", inputs: { image: owner.imageId }, tier: "high" };
      const { id } = await submit(services, request, { submitter: { ...owner, isAdmin: true } });
      await cancel(services, { ownerId: owner.userId, id });
      const asked = { submitter: owner, id };
      const racers = [retry(services, asked), retryAny(services, { id }), retry(services, asked)];
      const ids = new Set((await Promise.all(racers)).map((submitted) => submitted.id));
      expect(ids.size).toBe(1);
    }
  });
});
