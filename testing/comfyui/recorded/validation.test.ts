import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startComfySimulator, type ComfySimulator } from "../start-comfy-simulator.ts";
import { ask, post, postGraph, upload } from "./client.ts";
import { recordedPart } from "./read-recording.ts";
import { plainPng, recordedGraph } from "./recording.ts";
import { settle } from "./settle.ts";

let simulator: ComfySimulator;

beforeAll(async () => {
  simulator = await startComfySimulator({ models: {} });
  await upload(simulator.url, { name: "a.png", bytes: await plainPng("teal") });
});

afterAll(() => simulator.close());

const scale = { image: ["1", 0], upscale_method: "lanczos", width: 128, height: 96 };
const blur = { image: ["2", 0], blur_radius: 3, sigma: 1 };
const checkpoint = {
  "1": { class_type: "CheckpointLoaderSimple", inputs: { ckpt_name: "sdxl.safetensors" } },
  "2": { class_type: "CLIPTextEncode", inputs: { text: "p", clip: ["1", 1] } },
  "3": { class_type: "EmptyLatentImage", inputs: { width: 512, height: 512, batch_size: 1 } },
  "5": {
    class_type: "KSampler",
    inputs: {
      model: ["1", 0],
      positive: ["2", 0],
      negative: ["2", 0],
      latent_image: ["3", 0],
      seed: 1,
      steps: 1,
      cfg: 1,
      sampler_name: "euler",
      scheduler: "normal",
      denoise: 1,
    },
  },
  "6": { class_type: "VAEDecode", inputs: { samples: ["5", 0], vae: ["1", 2] } },
  "7": { class_type: "SaveImage", inputs: { images: ["6", 0], filename_prefix: "x" } },
};

const { "4": _save, "5": _preview, ...withoutOutputs } = recordedGraph();

const refused: readonly (readonly [title: string, graph: unknown])[] = [
  ["unknown class", recordedGraph({ "3": { class_type: "NoSuchNode", inputs: {} } })],
  ["missing class_type", recordedGraph({ "3": { inputs: blur } })],
  [
    "missing input + too big",
    recordedGraph({ "3": { class_type: "ImageBlur", inputs: { image: ["2", 0], blur_radius: 99 } } }),
  ],
  ["not in list", recordedGraph({ "2": { class_type: "ImageScale", inputs: { ...scale, crop: "zzz" } } })],
  ["missing input file", recordedGraph({ "1": { class_type: "LoadImage", inputs: { image: "nope.png" } } })],
  ["missing checkpoint", checkpoint],
  ["no outputs", withoutOutputs],
  [
    "type mismatch",
    recordedGraph({ "3": { class_type: "ImageBlur", inputs: { ...blur, image: ["1", 1] } } }),
  ],
  [
    "dangling link",
    recordedGraph({ "3": { class_type: "ImageBlur", inputs: { ...blur, image: ["77", 0] } } }),
  ],
];

describe("hold the simulator's answers against the recorded transcript: validation", () => {
  it.each(refused)("refuses: %s", async (title, graph) => {
    const { heard } = await postGraph(simulator.url, graph);
    expect(settle(["POST /prompt ->", ...heard])).toEqual(settle(recordedPart(title).notes[0]));
  });

  it("refuses a body without a prompt", async () => {
    const heard = await post(`${simulator.url}/prompt`, { client_id: "x" });
    expect(heard).toEqual(recordedPart("no prompt").notes[0]);
  });

  it("is in trouble over a body that is not JSON", async () => {
    const heard = await ask(`${simulator.url}/prompt`, { method: "POST", body: "{" });
    expect(heard).toEqual(recordedPart("invalid json").notes[0]);
  });

  it("counts every refusal and starts nothing", () => {
    expect(simulator.stats()).toMatchObject({ refused: 10, prompts: {} });
  });
});
