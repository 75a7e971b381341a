import { addNode, addServer, readJob } from "@atelier/testing/jobs";
import { openJobScene } from "@atelier/testing/scenes";
import { beforeEach, expect, test } from "vitest";
import { schema } from "../db/index.ts";
import { readListedNames } from "../scheduling/index.ts";
import { cancel } from "./cancel.ts";
import { retry } from "./retry.ts";
import { submit } from "./submit.ts";

const scene = openJobScene({ isEmptied: true });
const needs = ["comfyui/t2i_checkpoint", "comfyui/t2i_sdxl"] as const;
const lists = {
  "CheckpointLoaderSimple.ckpt_name": ["a/same.safetensors", "b/same.safetensors", "XL/Painted.ckpt"],
  "KSampler.sampler_name": ["euler", "dpmpp_2m"],
  "KSampler.scheduler": ["normal", "karras"],
};

beforeEach(async () => {
  await addNode(scene.services, { queue: "gpu-high", needs: [...needs] });
});

async function addListing(url: string, listed: Readonly<Record<string, readonly string[]>>): Promise<void> {
  const [node] = await scene.services.db.select().from(schema.nodes);
  await addServer(scene.services, { nodeId: node?.id ?? "", url, needs: [...needs], lists: listed });
}

const asked = (params: object, workflow?: string) => ({
  kind: "text_to_image",
  ...(workflow === undefined ? {} : { workflow }),
  params: { prompt: "a fox", ...params },
});
const send = (request: object) => submit(scene.services, request, { submitter: scene.owner });
const made = async (request: object) => readJob(scene.services, (await send(request)).id);

test("a checkpoint that no connected server has is refused by name, and one that is there in another folder is taken", async () => {
  await addListing("http://a:1", lists);
  await expect(send(asked({ checkpoint: "gone.safetensors" }, "t2i_checkpoint"))).rejects.toMatchObject({
    code: "workflow_params",
    message: "No connected server has all that was chosen. Missing: gone.safetensors.",
  });
  const { id, params } = await made(asked({ checkpoint: "painted.safetensors" }, "t2i_checkpoint"));
  expect(params["checkpoint"]).toBe("painted.safetensors");
  await cancel(scene.services, { ownerId: scene.owner.userId, id });
  const again = await retry(scene.services, { submitter: scene.owner, id });
  expect((await readJob(scene.services, again.id)).params["checkpoint"]).toBe("painted.safetensors");
});

test("a checkpoint of a server that is away is waited for", async () => {
  await addListing("http://a:1", { "CheckpointLoaderSimple.ckpt_name": ["other.safetensors"] });
  await addListing("http://b:1", lists);
  await scene.services.db.update(schema.nodes).set({ state: "gone", endedAt: new Date() });
  const { params } = await made(asked({ checkpoint: "Painted.ckpt" }, "t2i_checkpoint"));
  expect(params["checkpoint"]).toBe("Painted.ckpt");
});

test("a name that may be any of several checkpoints is refused with them", async () => {
  await addListing("http://a:1", lists);
  await expect(send(asked({ checkpoint: "same.safetensors" }, "t2i_checkpoint"))).rejects.toMatchObject({
    message:
      "Name the file with its folder: there are several of same.safetensors (a/same.safetensors, b/same.safetensors).",
  });
});

test("no single server has the checkpoint and the sampler: the request is refused, also where two servers have one each", async () => {
  await addListing("http://a:1", { ...lists, "KSampler.sampler_name": ["euler"] });
  await addListing("http://b:1", { ...lists, "CheckpointLoaderSimple.ckpt_name": ["other.safetensors"] });
  const both = { checkpoint: "Painted.ckpt", sampler: "dpmpp_2m" };
  await expect(send(asked(both, "t2i_checkpoint"))).rejects.toMatchObject({
    message: expect.stringMatching(
      /^No connected server has all that was chosen\. Missing: (dpmpp_2m|Painted\.ckpt)\.$/,
    ),
  });
  expect((await made(asked({ ...both, sampler: "euler" }, "t2i_checkpoint"))).params["sampler"]).toBe(
    "euler",
  );
});

test("a request that names its checkpoint alone goes to the workflow that takes one, and one that names none does not", async () => {
  await addListing("http://a:1", lists);
  expect((await made(asked({ checkpoint: "Painted.ckpt" }))).workflow).toBe("t2i_checkpoint");
  expect((await made(asked({}))).workflow).toBe("t2i_sdxl");
  await expect(send(asked({}, "t2i_checkpoint"))).rejects.toMatchObject({
    code: "workflow_params",
    message: expect.stringContaining("must be named, as a server lists it"),
  });
});

test("a workflow that takes no checkpoint refuses one, and without a sampler keeps its own", async () => {
  await addListing("http://a:1", lists);
  await expect(send(asked({ checkpoint: "Painted.ckpt" }, "t2i_sdxl"))).rejects.toMatchObject({
    code: "workflow_params",
  });
  await expect(send(asked({ sampler: "Euler a" }, "t2i_sdxl"))).rejects.toMatchObject({
    message: "No connected server has all that was chosen. Missing: Euler a.",
  });
  expect((await made(asked({}, "t2i_sdxl"))).params).not.toHaveProperty("sampler");
});

test("what servers list is told by param: files by the alphabet, samplers in their order", async () => {
  await addListing("http://a:1", lists);
  await addListing("http://b:1", { ...lists, "KSampler.scheduler": ["normal", "beta"] });
  const { db } = scene.services;
  expect(await readListedNames(db, "t2i_checkpoint")).toEqual({
    checkpoint: ["XL/Painted.ckpt", "a/same.safetensors", "b/same.safetensors"],
    loras: [],
    sampler: ["euler", "dpmpp_2m"],
    scheduler: expect.arrayContaining(["normal", "karras", "beta"]),
  });
  expect(await readListedNames(db, "a model of a provider")).toEqual({});
});
