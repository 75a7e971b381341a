import { createHash } from "node:crypto";
import sharp from "sharp";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isObject, objectOf } from "./options.ts";
import { ask, historyOf, postGraph, upload } from "./recorded/client.ts";
import { plainPng } from "./recorded/recording.ts";
import { graphNames, modelsOf, readGraph } from "./server/stats.ts";
import { startComfySimulator, type ComfySimulator } from "./start-comfy-simulator.ts";

let simulator: ComfySimulator;

beforeAll(async () => {
  simulator = await startComfySimulator();
  for (const name of ["person", "garment", "mask"]) {
    const color = name === "mask" ? "white" : name === "person" ? "teal" : "crimson";
    const bytes = await plainPng(color, { width: 128, height: 128 });
    await upload(simulator.url, { name: `${name}.png`, bytes });
  }
});

afterAll(() => simulator.close());

/** Runs a graph and answers the bytes of its one picture. */
async function run(graph: unknown): Promise<Buffer> {
  const { promptId, heard } = await postGraph(simulator.url, graph);
  expect(heard[0]).toBe(200);
  expect(objectOf(heard[1]).node_errors).toEqual({});
  const { outputs } = await historyOf(simulator.url, promptId);
  const [output] = Object.values(objectOf(outputs));
  const images = objectOf(output).images;
  const [file] = Array.isArray(images) ? images.filter(isObject) : [];
  const query = new URLSearchParams({
    filename: String(file?.filename),
    subfolder: String(file?.subfolder),
    type: String(file?.type),
  });
  const response = await fetch(`${simulator.url}/view?${query}`);
  expect(response.status).toBe(200);
  return Buffer.from(await response.arrayBuffer());
}

/** A fixture graph with other inputs in one of its nodes. */
function changed(name: string, nodeId: string, inputs: Record<string, unknown>) {
  const graph = readGraph(name);
  const node = graph[nodeId];
  if (node) Object.assign(node.inputs, inputs);
  return graph;
}

describe("the 18 graphs", () => {
  it.each(graphNames())("%s is accepted and gives a picture", async (name) => {
    const { width, height, format } = await sharp(await run(readGraph(name))).metadata();
    expect(format).toBe("png");
    expect(width * height).toBeGreaterThan(0);
  });

  it.each(graphNames().filter((name) => name !== "cpu_composite_no_model"))(
    "%s is refused by a server without its models",
    async (name) => {
      const bare = await startComfySimulator({ models: {} });
      try {
        const { heard } = await postGraph(bare.url, readGraph(name));
        expect(heard[0]).toBe(400);
        expect(JSON.stringify(heard[1])).toContain("not in []");
      } finally {
        await bare.close();
      }
    },
  );

  it("gives pictures of the latent's size", async () => {
    const { width, height } = await sharp(
      await run(changed("t2i_sd15", "5", { width: 320, height: 192 })),
    ).metadata();
    expect([width, height]).toEqual([320, 192]);
  });

  it("gives the same picture for the same seed and words, and another for others", async () => {
    const pixels = async (inputs: Record<string, unknown>, nodeId: string) => {
      const graph = changed("t2i_sd15", nodeId, inputs);
      Object.assign(graph["5"]?.inputs ?? {}, { width: 64, height: 64 });
      const raw = await sharp(await run(graph))
        .raw()
        .toBuffer();
      return createHash("sha256").update(raw).digest("hex");
    };
    const first = await pixels({ seed: 7 }, "3");
    await pixels({ seed: 8 }, "3");
    expect(await pixels({ seed: 7 }, "3")).toBe(first);
    expect(await pixels({ seed: 8 }, "3")).not.toBe(first);
    expect(await pixels({ text: "other words" }, "6")).not.toBe(first);
  });

  it("writes the prompt into the PNG, as the real server does", async () => {
    const png = await run(changed("t2i_sd15", "6", { text: "tell-tale words" }));
    expect(png.includes("tell-tale words")).toBe(true);
  });

  it("leaves what is outside the mask exact", async () => {
    const bytes = await sharp({ create: { width: 128, height: 128, channels: 3, background: "black" } })
      .composite([{ input: await plainPng("white", { width: 64, height: 128 }), left: 64, top: 0 }])
      .png()
      .toBuffer();
    await upload(simulator.url, { name: "half.png", bytes });
    const png = await run(changed("inpaint_any_differential", "2", { image: "half.png" }));
    // The graph grows the mask by 8 px.
    const left = { left: 0, top: 0, width: 56, height: 128 };
    const outside = await sharp(png).extract(left).raw().toBuffer();
    const person = await sharp(await plainPng("teal", { width: 56, height: 128 }))
      .raw()
      .toBuffer();
    expect(outside.equals(person)).toBe(true);
    const inside = await sharp(png)
      .extract({ ...left, left: 64 })
      .raw()
      .toBuffer();
    expect(inside.equals(person)).toBe(false);
  });

  it("lists in object_info exactly the models it has, in both combo styles", async () => {
    simulator.setModels(modelsOf([readGraph("upscale_model"), readGraph("t2i_sd15")]));
    const info = async (name: string) => {
      const [, body] = await ask(`${simulator.url}/api/object_info/${name}`);
      return objectOf(objectOf(objectOf(objectOf(body)[name]).input).required);
    };
    expect((await info("CheckpointLoaderSimple")).ckpt_name).toEqual([
      ["v1-5-pruned-emaonly-fp16.safetensors"],
      {},
    ]);
    expect((await info("UpscaleModelLoader")).model_name).toEqual([
      "COMBO",
      { multiselect: false, options: ["4x-ESRGAN.pth"] },
    ]);
    expect(await ask(`${simulator.url}/object_info/NoSuchNode`)).toEqual([200, {}]);
  });
});
