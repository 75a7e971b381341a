import { sampleFiles } from "@atelier/testing/workflows";
import { expect, test } from "vitest";
import { isAppError } from "../platform/index.ts";
import { parseWorkflow } from "./parse.ts";

type Files = ReturnType<typeof sampleFiles>;

const parse = ({ manifest, graph }: { manifest: unknown; graph: unknown }, name = "blur") =>
  parseWorkflow({ name, manifest, graph, isBuiltIn: false });

function problemsOf(change: (files: Files) => unknown, name?: string): unknown {
  const files = sampleFiles();
  change(files);
  try {
    parse(files, name);
    return [];
  } catch (error) {
    if (!isAppError(error) || error.code !== "bad_request") throw error;
    return error.details?.problems;
  }
}

const optionalReference = (without?: unknown) => (files: Files) => {
  files.graph["4"] = { class_type: "LoadImage", inputs: { image: "" } };
  files.graph["5"] = { class_type: "ImageBlend", inputs: { image1: ["2", 0], image2: ["4", 0] } };
  files.graph["3"] = {
    class_type: "SaveImage",
    inputs: { images: ["5", 0], filename_prefix: "atelier" },
  };
  files.manifest.inputs.reference = { to: ["4.image"], required: false, without };
};

test("a right folder becomes a workflow with classes, models and a hash", () => {
  const files = sampleFiles();
  files.graph["9"] = { class_type: "VAELoader", inputs: { vae_name: "ae.safetensors" } };
  files.manifest.models = ["9.vae_name"];
  expect(parse(files)).toMatchObject({
    name: "blur",
    kind: "edit",
    isBuiltIn: false,
    classes: ["ImageBlur", "LoadImage", "SaveImage", "VAELoader"],
    models: [{ class: "VAELoader", input: "vae_name", file: "ae.safetensors" }],
    hash: expect.stringMatching(/^[0-9a-f]{64}$/),
    paste: false,
    sizeMultipleOf: 8,
  });
});

test("the hash follows the content, not the order of keys nor the name", () => {
  const files = sampleFiles();
  const reversed = {
    manifest: Object.fromEntries(Object.entries(files.manifest).toReversed()),
    graph: Object.fromEntries(Object.entries(files.graph).toReversed()),
  };
  const { hash } = parse(files);
  expect(parse(reversed, "other").hash).toBe(hash);
  expect(parse({ ...files, manifest: { ...files.manifest, vramGib: 1 } }).hash).not.toBe(hash);
});

test.each<[string, (files: Files) => unknown, string[]]>([
  ["an unknown kind", ({ manifest }) => (manifest.kind = "paint"), ["kind"]],
  [
    "an unknown param",
    ({ manifest }) => (manifest.params.zoom = { type: "number", to: ["2.sigma"] }),
    ["zoom"],
  ],
  [
    "a param of the wrong type",
    ({ manifest }) => (manifest.params.steps = { type: "text", to: ["2.blur_radius"] }),
    ["params.steps: 2.blur_radius holds no text", "params.steps: must be of type integer"],
  ],
  [
    "a range that is missing, and a default outside another",
    ({ manifest }) => {
      manifest.params.steps = { type: "integer", to: ["2.blur_radius"] };
      manifest.params.strength = { type: "number", min: 0, max: 1, default: 2, to: ["2.sigma"] };
    },
    [
      "params.steps: needs min and max, or choices",
      "params.strength: has a default that is not among its values",
    ],
  ],
  [
    "places that are not there",
    ({ manifest }) => {
      manifest.params.steps = { type: "integer", min: 1, max: 2, to: ["2.radius"] };
      manifest.inputs.image = { to: ["7.image"] };
      manifest.models = ["1.ckpt"];
      manifest.prefix = ["3.prefix", "3.filename_prefix"];
      manifest.outputs = ["3", "8"];
    },
    [
      "params.steps: the graph has no 2.radius",
      "inputs.image: the graph has no 7.image",
      "models: the graph has no 1.ckpt",
      "prefix: the graph has no 3.prefix",
      "outputs: the graph has no node 8",
    ],
  ],
  [
    "a model that is no text",
    ({ manifest }) => (manifest.models = ["2.sigma"]),
    ["models: 2.sigma holds no text"],
  ],
  [
    "a required picture that is missing, and one that the kind does not take",
    ({ manifest }) => (manifest.inputs = { garment: { to: ["1.image"] } }),
    ['inputs: edit needs the required input "image"', 'inputs: edit takes no "garment"'],
  ],
  [
    "a file name that two jobs would share",
    ({ manifest }) => (manifest.prefix = []),
    ["prefix: 3.filename_prefix is missing, so two jobs would share a file"],
  ],
  [
    "paste without a mask",
    ({ manifest }) => Object.assign(manifest, { paste: true }),
    ['paste: needs the input "mask"'],
  ],
  [
    "text_to_image without words",
    ({ manifest }) => Object.assign(manifest, { kind: "text_to_image", inputs: {} }),
    ['params: text_to_image needs "prompt"'],
  ],
  [
    "a param that only another kind has",
    ({ manifest }) =>
      (manifest.params = { scale: { type: "integer", min: 2, max: 4, to: ["2.blur_radius"] } }),
    ['params: edit has no "scale"'],
  ],
  [
    "texts that the database does not take",
    ({ manifest, graph }) => {
      manifest.description = "a\u0000b";
      Object.assign(graph["2"] ?? {}, { _meta: { title: "\ud800" } });
    },
    [
      "workflow.json: holds a text that cannot be stored (NUL or half of a character)",
      "graph.json: holds a text that cannot be stored (NUL or half of a character)",
    ],
  ],
  [
    "a dangling link",
    ({ graph }) => Object.assign(graph["2"]?.inputs ?? {}, { image: ["77", 0] }),
    ['2.image is linked to ["77",0], which is not there'],
  ],
  [
    "a place written twice",
    ({ manifest }) => (manifest.params.seed = { type: "seed", to: ["2.blur_radius"] }),
    ["2.blur_radius is written twice; only texts may share a place"],
  ],
  [
    "an optional picture that nobody says how to do without",
    optionalReference(),
    ["inputs.reference.without: is missing; it says how the graph works without the picture"],
  ],
  [
    "a graph that does not hold without the picture",
    optionalReference({ remove: ["4", "6"], set: { "3.picture": ["2", 0] } }),
    [
      "inputs.reference.without: the graph has no node 6",
      "inputs.reference.without: the graph has no 3.picture",
      'inputs.reference.without: 5.image2 is linked to ["4",0], which is not there',
    ],
  ],
  [
    "a picture that stays in the graph although it is not given",
    optionalReference({ remove: ["5"], set: { "3.images": ["2", 0] } }),
    ["inputs.reference.without: 4.image is left without a picture"],
  ],
])("%s is refused with the reason", (_title, change, reasons) => {
  const problems = problemsOf(change);
  for (const reason of reasons) expect(problems).toContainEqual(expect.stringContaining(reason));
  expect(problems).toHaveLength(reasons.length);
});

test("an optional picture is right when the graph holds without it", () => {
  expect(problemsOf(optionalReference({ remove: ["4", "5"], set: { "3.images": ["2", 0] } }))).toEqual([]);
});

test("the editor's format is named as what it is", () => {
  expect(problemsOf((files) => Object.assign(files, { graph: { nodes: [], links: [] } }))).toEqual([
    "graph.json: is in the editor's format: export it with Save (API)",
  ]);
});

test("both files and the name are judged at once", () => {
  const change = (files: Files) => {
    Object.assign(files.manifest, { title: "", rank: "first" });
    Object.assign(files, { graph: { "1": { inputs: {} } } });
  };
  expect(problemsOf(change, "My Blur")).toEqual([
    expect.stringContaining("the name may hold only"),
    expect.stringContaining("workflow.json: title: "),
    expect.stringContaining("workflow.json: rank: "),
    expect.stringContaining("graph.json: 1.class_type: "),
  ]);
});
