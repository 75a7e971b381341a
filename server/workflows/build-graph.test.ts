import { sampleFiles } from "@atelier/testing/workflows";
import { expect, test } from "vitest";
import { buildGraph } from "./build-graph.ts";
import { builtInWorkflows } from "./built-in.ts";
import { parseWorkflow } from "./parse.ts";
import type { Workflow } from "./workflow.ts";
import { workflowParams } from "./params.ts";

function named(name: string): Workflow {
  const workflow = builtInWorkflows().find((candidate) => candidate.name === name);
  if (!workflow) throw new Error(`There is no workflow ${name}`);
  return workflow;
}

const refusal = (code: string) => expect.objectContaining({ tag: "AppError", code });

test("A12: only the declared places are written, and the workflow stays as it is", () => {
  const workflow = named("t2i_sdxl");
  const before = structuredClone(workflow.graph);
  const params = {
    prompt: "a fox",
    negativePrompt: "blurry",
    width: 768,
    height: 1024,
    steps: 30,
    guidance: 5.5,
    seed: 9007199254740991,
    consent: true,
    ckpt_name: "other.safetensors",
  };
  const graph = buildGraph(workflow, { params, images: {}, prefix: "jobs/a/out" });
  expect(workflow.graph).toEqual(before);

  const expected = structuredClone(before);
  Object.assign(expected["3"]?.inputs ?? {}, { seed: 9007199254740991, steps: 30, cfg: 5.5 });
  Object.assign(expected["5"]?.inputs ?? {}, { width: 768, height: 1024 });
  Object.assign(expected["6"]?.inputs ?? {}, { text: "a fox" });
  Object.assign(expected["7"]?.inputs ?? {}, { text: "blurry" });
  Object.assign(expected["9"]?.inputs ?? {}, { filename_prefix: "jobs/a/out" });
  expect(graph).toEqual(expected);
});

test("an edit without a reference leaves its nodes out and links past them", () => {
  const request = { params: { prompt: "at night", seed: 1 }, prefix: "x" };
  const alone = buildGraph(named("edit_flux2_two_refs"), { ...request, images: { image: "a.png" } });
  expect(Object.keys(alone)).not.toEqual(expect.arrayContaining(["30"]));
  expect(alone["10"]?.inputs.conditioning).toEqual(["23", 0]);
  const images = { image: "a.png", reference: "b.png" };
  const both = buildGraph(named("edit_flux2_two_refs"), { ...request, images });
  expect(both["30"]?.inputs.image).toBe("b.png");
  expect(both["10"]?.inputs.conditioning).toEqual(["33", 0]);
});

test("an edit follows the size of its picture unless a size is asked for", () => {
  const build = (size: Record<string, number>) =>
    buildGraph(named("edit_flux2_two_refs"), {
      params: { prompt: "at night", seed: 1, ...size },
      images: { image: "a.png" },
      prefix: "x",
    });
  expect(build({})["6"]?.inputs).toMatchObject({ width: ["40", 0], height: ["40", 1] });
  expect(build({ width: 512, height: 768 })["6"]?.inputs).toMatchObject({ width: 512, height: 768 });
});

test("a choice is written as what it stands for", () => {
  const scaleBy = (scale?: number) =>
    buildGraph(named("upscale_model"), { params: { scale }, images: { image: "a.png" }, prefix: "x" })["4"]
      ?.inputs.scale_by;
  expect([scaleBy(2), scaleBy(4), scaleBy()]).toEqual([0.5, 1, 0.5]);
  expect(() => scaleBy(3)).toThrow(refusal("bad_request"));
});

test("a job without what its workflow needs is refused before it is posted", () => {
  const build = (name: string, params: Record<string, unknown>, images = {}) =>
    buildGraph(named(name), { params, images, prefix: "x" });
  expect(() => build("t2i_sdxl", { seed: 1 })).toThrow(refusal("bad_request"));
  expect(() => build("t2i_sdxl", { prompt: "a fox" })).toThrow(refusal("bad_request"));
  expect(() => build("t2i_sdxl", { prompt: "a fox", seed: -1 })).toThrow(refusal("bad_request"));
  const small = () => build("t2i_sdxl", { prompt: "a fox", seed: 1, width: 100 });
  expect(small).toThrow(/^width: Too small: [^\n]+; Invalid number: must be a multiple of 8$/);
  expect(() => build("t2i_sdxl", { prompt: "a fox", seed: 1 }, { image: "a.png" })).toThrow(
    refusal("bad_request"),
  );
  expect(() => build("upscale_model", {})).toThrow(refusal("input_missing"));
});

test("params are strict, have defaults and leave the seed to the caller", () => {
  const schema = workflowParams(named("t2i_sdxl"));
  expect(schema.parse({ prompt: "  a fox " })).toEqual({
    prompt: "a fox",
    negativePrompt: "",
    width: 1024,
    height: 1024,
    steps: 25,
    guidance: 7,
  });
  const refused = [
    {},
    { prompt: " " },
    { prompt: "a\u0000fox" },
    { prompt: "a fox", width: 1001 },
    { prompt: "a fox", steps: 1.5 },
    { prompt: "a fox", guidance: 99 },
    { prompt: "a fox", seed: 2 ** 53 },
    { prompt: "a fox", scale: 2 },
  ];
  expect(refused.filter((params) => schema.safeParse(params).success)).toEqual([]);
});

test("an optional param without a default leaves the graph's own value", () => {
  const { manifest, graph } = sampleFiles();
  manifest.params = { steps: { type: "integer", min: 1, max: 31, to: ["2.blur_radius"] } };
  const workflow = parseWorkflow({ name: "blur", manifest, graph, isBuiltIn: false });
  const built = buildGraph(workflow, { params: {}, images: { image: "a.png" }, prefix: "x" });
  expect(built["2"]?.inputs.blur_radius).toBe(3);
});

test("texts of one place are joined in one order, whatever order the manifest came back in", () => {
  const { manifest, graph } = named("tryon_qwen_edit_2511");
  const joined = [manifest.params, Object.fromEntries(Object.entries(manifest.params).toReversed())].map(
    (params) => {
      const workflow = parseWorkflow({
        name: "tryon",
        manifest: { ...manifest, params },
        graph,
        isBuiltIn: false,
      });
      const given = { category: "top", prompt: "in red wool", seed: 1 };
      const images = { person: "a.png", garment: "b.png" };
      return JSON.stringify(buildGraph(workflow, { params: given, images, prefix: "x" }));
    },
  );
  expect(joined[1]).toBe(joined[0]);
  expect(joined[0]).toMatch(/\S in red wool"/);
});

test("LoRAs follow each other between the loaders and all that used them", () => {
  const workflow = named("t2i_sdxl");
  const loras = [
    { name: "fur.safetensors", weight: 0.8 },
    { name: "ink.safetensors", weight: -1 },
  ];
  const request = { params: { prompt: "a fox", seed: 1 }, images: {}, prefix: "x" };
  const plain = buildGraph(workflow, request);
  const graph = buildGraph(workflow, { ...request, params: { ...request.params, loras } });
  expect(graph["10"]).toEqual({
    class_type: "LoraLoader",
    inputs: {
      model: ["4", 0],
      clip: ["4", 1],
      lora_name: "fur.safetensors",
      strength_model: 0.8,
      strength_clip: 0.8,
    },
  });
  expect(graph["11"]?.inputs).toMatchObject({ model: ["10", 0], clip: ["10", 1], strength_model: -1 });
  expect([graph["3"]?.inputs["model"], graph["6"]?.inputs["clip"], graph["7"]?.inputs["clip"]]).toEqual([
    ["11", 0],
    ["11", 1],
    ["11", 1],
  ]);
  expect(graph["8"]?.inputs["vae"]).toEqual(["4", 2]);
  expect(buildGraph(workflow, { ...request, params: { ...request.params, loras: [] } })).toEqual(plain);
});

test("LoRAs change the model alone where the workflow says so", () => {
  const loras = [{ name: "fur.safetensors", weight: 1 }];
  const params = { prompt: "a fox", seed: 1, loras };
  const graph = buildGraph(named("t2i_z_image_turbo"), { params, images: {}, prefix: "x" });
  const [id, lora] = Object.entries(graph).find(([, node]) => node.class_type.startsWith("Lora")) ?? [];
  expect(lora).toEqual({
    class_type: "LoraLoaderModelOnly",
    inputs: { model: ["1", 0], lora_name: "fur.safetensors", strength_model: 1 },
  });
  const users = Object.values(graph).filter(({ inputs }) =>
    Object.values(inputs).some((value) => Array.isArray(value) && value[0] === "1"),
  );
  expect([users, id !== undefined]).toEqual([[lora], true]);
});

test.each([
  ["one twice", [{ name: "a" }, { name: "a" }]],
  ["too heavy", [{ name: "a", weight: 6 }]],
  ["too many", Array.from({ length: 6 }, (_, at) => ({ name: `${at}` }))],
])("LoRAs are refused: %s", (_name, loras) => {
  expect(workflowParams(named("t2i_sdxl")).safeParse({ prompt: "x", loras }).success).toBe(false);
});

test("a place for LoRAs that nothing uses is a fault of the workflow", () => {
  const { manifest, graph, name } = named("t2i_sdxl");
  const params = { ...manifest.params, loras: { type: "loras", model: ["4", 0], clip: ["9", 0] } };
  expect(() => parseWorkflow({ name, manifest: { ...manifest, params }, graph, isBuiltIn: false })).toThrow(
    'params.loras: nothing in the graph uses ["9",0]',
  );
});
