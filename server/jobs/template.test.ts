import { addNode, addServer, readJob } from "@atelier/testing/jobs";
import { countStatements } from "@atelier/testing/postgres";
import { openJobScene } from "@atelier/testing/scenes";
import { eq } from "drizzle-orm";
import { beforeEach, expect, test, vi } from "vitest";
import { estimateBatch, submitBatch } from "../batches/index.ts";
import { schema } from "../db/index.ts";
import { savePreset, savePresetSchema } from "../presets/index.ts";
import { cancel } from "./cancel.ts";
import { listPrompts } from "./list.ts";
import { retry } from "./retry.ts";
import { submit } from "./submit.ts";

const scene = openJobScene({ isEmptied: true });

beforeEach(async () => {
  await addNode(scene.services, {
    queue: "gpu-high",
    needs: ["comfyui/t2i_sdxl", "comfyui/t2i_z_image_turbo"],
  });
});

const asked = (params: object, template: object | null = {}, workflow = "t2i_sdxl") => ({
  kind: "text_to_image",
  workflow,
  params,
  ...(template ? { template } : {}),
});
const send = (request: object, idempotencyKey?: string) =>
  submit(scene.services, request, {
    submitter: scene.owner,
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
  });
const made = async (request: object, key?: string) => readJob(scene.services, (await send(request, key)).id);

test("a job has the drawn prompt in its params and keeps the template; without one braces stay as they are", async () => {
  const prompt = "a {red|green} fox __season__";
  const job = await made(asked({ prompt, seed: 7 }));
  expect(job.params["prompt"]).toMatch(/^a (red|green) fox in \w+$/);
  expect(job.template).toEqual({
    prompt,
    negativePrompt: null,
    drawn: { prompt: job.params["prompt"], negativePrompt: null },
    seed: 7,
    styles: [],
  });
  expect((await made(asked({ prompt, seed: 7 }))).params["prompt"]).toBe(job.params["prompt"]);
  const plain = await made(asked({ prompt }, null));
  expect([plain.params["prompt"], plain.template]).toEqual([prompt, null]);
});

test("a repeated request gets its first answer, although it would draw another prompt", async () => {
  const request = asked({ prompt: "{a|b|c|d|e|f|g|h}" });
  const { id } = await send(request, "once");
  expect((await send(request, "once")).id).toBe(id);
  await expect(send(asked({ prompt: "{a|b}" }), "once")).rejects.toMatchObject({
    code: "idempotency_mismatch",
  });
});

test("a retry makes the drawn prompt again and keeps what it was made from", async () => {
  const job = await made(asked({ prompt: "{a|b|c|d} fox" }, { styles: ["Cinematic"] }));
  await cancel(scene.services, { ownerId: scene.owner.userId, id: job.id });
  const { id } = await retry(scene.services, { submitter: scene.owner, id: job.id });
  const again = await readJob(scene.services, id);
  expect(again.params).toEqual(job.params);
  expect(again.template).toEqual(job.template);
});

test("what a style wants away is left out where the workflow takes no negative prompt", async () => {
  const styles = { styles: ["Cinematic"] };
  const turbo = await made(asked({ prompt: "a fox" }, styles, "t2i_z_image_turbo"));
  expect(turbo.params["prompt"]).toMatch(/^cinematic still of a fox/);
  expect(turbo.params).not.toHaveProperty("negativePrompt");
  const both = await made(asked({ prompt: "a fox", negativePrompt: "dog" }, styles));
  expect(both.params["negativePrompt"]).toBe("dog, flat light, snapshot");
  await expect(
    send(asked({ prompt: "a fox", negativePrompt: "dog" }, styles, "t2i_z_image_turbo")),
  ).rejects.toMatchObject({ code: "workflow_params" });
});

test("each job of a batch draws by its own seed, and one fault stores nothing", async () => {
  const options = { submitter: scene.owner, signal: new AbortController().signal };
  const jobs = Array.from({ length: 12 }, (_, seed) => asked({ prompt: "{a|b|c|d} __colour__", seed }));
  const { jobIds } = await submitBatch(scene.services, { jobs }, options);
  const drawn = await Promise.all(jobIds.map((id) => readJob(scene.services, id)));
  expect(new Set(drawn.map(({ params }) => params["prompt"])).size).toBeGreaterThan(6);
  const before = await scene.services.db.$count(schema.jobs);
  const faulty = { jobs: [...jobs, asked({ prompt: "__unknown__" })] };
  expect((await estimateBatch(scene.services, faulty, options)).refused).toMatchObject([
    { position: 12, code: "template_invalid" },
  ]);
  await expect(submitBatch(scene.services, faulty, options)).rejects.toMatchObject({
    code: "template_invalid",
    message: expect.stringContaining("Job 13: There is no list __unknown__"),
  });
  expect(await scene.services.db.$count(schema.jobs)).toBe(before);
});

test("S2 the jobs of a batch read each list once, however many of them name it", async () => {
  const reader = { userId: scene.owner.userId };
  const save = (name: string, line: string) =>
    savePreset(scene.services, {
      ...savePresetSchema.parse({ type: "list", name, content: { lines: [line] } }),
      reader,
    });
  await save("pets", "a {red|blue} __furs__");
  await save("furs", "{fox|cat}");
  const options = { submitter: scene.owner, signal: new AbortController().signal };
  const count = (jobs: readonly object[]) =>
    countStatements(async () => {
      // Costs that were just read are believed for a while: of another object nothing has been read, and no time passes.
      vi.useFakeTimers({ toFake: ["performance"] });
      const fresh = { ...scene.services, db: new Proxy(scene.services.db, {}) };
      const { jobs: all, refused } = await estimateBatch(fresh, { jobs }, options);
      vi.useRealTimers();
      expect([all, refused]).toEqual([jobs.length, []]);
    });
  const named = Array.from({ length: 20 }, () => asked({ prompt: "__pets__, __Furs__" }));
  const plain = named.map(() => asked({ prompt: "a {red|blue} fox" }));
  // `pets`, and then `furs` of which its line speaks.
  expect(await count(named)).toBe((await count(plain)) + 1);
});

test("what was written is listed once each, newest first, by its owner alone", async () => {
  await send(asked({ prompt: "a fox" }, null));
  await send(asked({ prompt: "a {red|blue} hen", negativePrompt: "dog" }));
  await send(asked({ prompt: "a fox" }, null));
  await send(asked({ prompt: "a {red|blue} hen", negativePrompt: "dog" }, { styles: ["Cinematic"] }));
  expect(await listPrompts(scene.services, scene.owner.userId)).toEqual([
    { prompt: "a {red|blue} hen", negativePrompt: "dog", isTemplate: true },
    { prompt: "a fox", negativePrompt: "", isTemplate: false },
  ]);
  expect(await listPrompts(scene.services, "somebody")).toEqual([]);
});

test("LoRAs that no connected server has are refused, and wait where none is connected", async () => {
  const { services, owner } = scene;
  const fur = asked({ prompt: "a fox", loras: [{ name: "fur.safetensors" }] }, null);
  expect((await made(fur)).params["loras"]).toEqual([{ name: "fur.safetensors", weight: 1 }]);
  const [node] = await services.db.select().from(schema.nodes);
  const nodeId = node?.id ?? "";
  await addServer(services, { nodeId, url: "http://a:1", needs: ["comfyui/t2i_sdxl"] });
  await expect(send(fur)).rejects.toMatchObject({
    code: "workflow_params",
    message: "No connected server has all that was chosen. Missing: fur.safetensors.",
  });
  await services.db.update(schema.engineServers).set({ loras: ["style/fur.safetensors"] });
  const { id } = await send(fur);
  await cancel(services, { ownerId: owner.userId, id });
  const again = await retry(services, { submitter: owner, id });
  expect((await readJob(services, again.id)).params["loras"]).toEqual([
    { name: "fur.safetensors", weight: 1 },
  ]);
});

test("a LoRA of a server that is away is waited for, at a retry as well", async () => {
  const { services } = scene;
  const [node] = await services.db.select().from(schema.nodes);
  const nodeId = node?.id ?? "";
  await addServer(services, { nodeId, url: "http://a:1", needs: ["comfyui/t2i_sdxl"] });
  await addServer(services, { nodeId, url: "http://b:1", needs: ["comfyui/t2i_sdxl"], state: "down" });
  await services.db
    .update(schema.engineServers)
    .set({ loras: ["fur.safetensors"] })
    .where(eq(schema.engineServers.url, "http://b:1"));
  const fur = asked({ prompt: "a fox", loras: [{ name: "fur.safetensors" }] }, null);
  const { id } = await send(fur);
  await cancel(services, { ownerId: scene.owner.userId, id });
  expect(await retry(services, { submitter: scene.owner, id })).toMatchObject({ id: expect.any(String) });
  await services.db.update(schema.nodes).set({ state: "gone", endedAt: new Date() });
  expect(await send(fur)).toMatchObject({ id: expect.any(String) });
});

test("a name that may be any of several LoRAs is refused with them, and one with its folder is taken", async () => {
  const { services } = scene;
  const [node] = await services.db.select().from(schema.nodes);
  await addServer(services, { nodeId: node?.id ?? "", url: "http://a:1", needs: ["comfyui/t2i_sdxl"] });
  const loras = ["a/fur.safetensors", "b/fur.safetensors"];
  await services.db.update(schema.engineServers).set({ loras });
  const named = (name: string) => asked({ prompt: "a fox", loras: [{ name }] }, null);
  await expect(send(named("fur.safetensors"))).rejects.toMatchObject({
    code: "workflow_params",
    message: `Name the file with its folder: there are several of fur.safetensors (${loras.join(", ")}).`,
  });
  expect(await send(named("b/fur.safetensors"))).toMatchObject({ id: expect.any(String) });
});
