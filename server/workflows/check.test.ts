import { beforeAll, describe, expect, test } from "vitest";
import en from "../../messages/en.json" with { type: "json" };
import { readSimulatedClasses, sampleFiles } from "@atelier/testing/workflows";
import { builtInWorkflows } from "./built-in.ts";
import { checkGraph, checkWorkflow } from "./check.ts";
import type { ObjectInfo, ObjectInfoByClass } from "./inputs.ts";
import { listedPlaces } from "./listed.ts";
import { findMissing, isComplete, isTight, noteWorkflow, readModelChoices } from "./needs.ts";
import { drawSeed, seedWithin } from "./params.ts";
import { parseWorkflow } from "./parse.ts";
import { findModel, loadedAfter, spellModels } from "./models.ts";
import type { Graph } from "./workflow.ts";

test("a value that each job chooses is no fault of a workflow on a server that lists others, and an empty list is one", async () => {
  const checkpoint = builtInWorkflows().find(({ name }) => name === "t2i_checkpoint");
  if (!checkpoint) throw new Error("the workflow is not there");
  const problemsWith = async (checkpoints: readonly string[]) =>
    checkWorkflow(checkpoint, await readSimulatedClasses({ mode: "new", models: { checkpoints } }));
  expect(await problemsWith(["own.safetensors"])).toEqual([]);
  expect(await problemsWith([])).toEqual([expect.stringContaining("nothing to choose from")]);
});

describe("check graph", () => {
  let objectInfo: ObjectInfoByClass;

  beforeAll(async () => {
    objectInfo = await readSimulatedClasses({ models: { upscale_models: ["4x-ESRGAN.pth"] } });
  });

  function check(
    change: (graph: Record<string, { class_type: string; inputs: Record<string, unknown> }>) => unknown,
  ) {
    const { graph } = sampleFiles();
    change(graph);
    return checkGraph(graph as Graph, objectInfo);
  }

  test("a right graph has no problems", () => {
    expect(check(() => null)).toEqual([]);
  });

  test.each<[string, Record<string, unknown>, string[]]>([
    [
      "a number above the range",
      { blur_radius: 99 },
      ["node 2 (ImageBlur): blur_radius is 99, above the most 31"],
    ],
    [
      "a number below the range",
      { blur_radius: 0 },
      ["node 2 (ImageBlur): blur_radius is 0, below the least 1"],
    ],
    ["a text for a number", { sigma: "much" }, ["node 2 (ImageBlur): sigma is no number"]],
    [
      "a literal for a picture",
      { image: "a.png" },
      ["node 2 (ImageBlur): image takes IMAGE and must be linked"],
    ],
    [
      "a link to nothing",
      { image: ["77", 0] },
      ["node 2 (ImageBlur): image is linked to node 77, which is not there"],
    ],
    [
      "a link to an output that is not there",
      { image: ["1", 2] },
      ["node 2 (ImageBlur): image is linked to output 2 of LoadImage, which has none"],
    ],
    [
      "a link of another type",
      { image: ["1", 1] },
      ["node 2 (ImageBlur): image takes IMAGE, but is linked to MASK"],
    ],
  ])("%s is named", (_title, inputs, problems) => {
    expect(check((graph) => Object.assign(graph["2"]?.inputs ?? {}, inputs))).toEqual(problems);
  });

  test.each([
    ["of which it lists the last one", ["*"], []],
    ["that it does not list", undefined, []],
    [
      "of a type, of which there is one",
      ["IMAGE"],
      ["node 2 (ImageBlur): image is linked to output 3 of Switch, which has none"],
    ],
    ["and there are none", [], ["node 2 (ImageBlur): image is linked to output 3 of Switch, which has none"]],
  ])("a link to one of the outputs of a node %s", (_what, output, problems) => {
    const info: ObjectInfo = { input: { required: {}, optional: {} }, output };
    const { graph } = sampleFiles();
    Object.assign(graph, { 9: { class_type: "Switch", inputs: {} } });
    Object.assign(graph["2"]?.inputs ?? {}, { image: ["9", 3] });
    expect(checkGraph(graph as Graph, new Map([...objectInfo, ["Switch", info]]))).toEqual(problems);
  });

  test("classes and values that the server does not have are named", () => {
    expect(
      check((graph) => {
        graph["4"] = { class_type: "MagicBrush", inputs: {} };
        graph["5"] = { class_type: "UpscaleModelLoader", inputs: { model_name: "x2.pth" } };
        graph["6"] = { class_type: "LoadImageMask", inputs: { image: "mask.png", channel: "grey" } };
      }),
    ).toEqual([
      "node 4: the server has no class MagicBrush",
      'node 5 (UpscaleModelLoader): model_name is "x2.pth", which is none of 4x-ESRGAN.pth',
      'node 6 (LoadImageMask): channel is "grey", which is none of alpha, red, green, blue',
    ]);
  });

  test("a missing input is named", () => {
    expect(check((graph) => delete graph["2"]?.inputs.sigma)).toEqual([
      "node 2 (ImageBlur): the required input sigma is missing",
    ]);
  });

  test("a graph without an output is named", () => {
    expect(check((graph) => delete graph["3"])).toEqual(["no node of the graph is an output"]);
  });
});

describe("check", () => {
  const gib = 2 ** 30;
  const model = { class: "UpscaleModelLoader", input: "model_name", file: "4x-ESRGAN.pth" };
  const workflow = { classes: ["UpscaleModelLoader"], models: [model], vramGib: 8, graph: {}, params: {} };

  const server = (spec: unknown): ObjectInfoByClass =>
    new Map([["UpscaleModelLoader", { input: { required: { model_name: spec } } }]]);
  const missed = { ...model, several: [] };

  test.each([
    ["older nodes", (files: string[]) => [files, { tooltip: "The model" }]],
    ["newer nodes", (files: string[]) => ["COMBO", { multiselect: false, options: files }]],
  ])("A10: a model is looked for in the list of %s", (_title, specOf) => {
    const has = findMissing(workflow, server(specOf(["2x.pth", "4x-ESRGAN.pth"])));
    expect(has).toEqual({ classes: [], models: [] });
    expect(isComplete(has)).toBe(true);
    const lacks = findMissing(workflow, server(specOf(["2x.pth"])));
    expect(lacks.models).toEqual([missed]);
    expect(isComplete(lacks)).toBe(false);
    expect(findMissing(workflow, server(specOf([]))).models).toEqual([missed]);
  });

  test("D12 after a run those workflows need no load whose model files it had, itself without any that are named too", () => {
    const of = (name: string, files: readonly string[], vramGib = 8) => ({
      name,
      models: files.map((file) => ({ file })),
      vramGib,
    });
    const known = [
      of("both", ["a", "b"]),
      of("part", ["a"]),
      of("other", ["c"]),
      of("unnamed", []),
      of("unnamed too", []),
      of("none", [], 0),
    ];
    expect(loadedAfter("both", known)?.toSorted()).toEqual(["both", "none", "part"]);
    expect(loadedAfter("part", known)?.toSorted()).toEqual(["none", "part"]);
    expect(loadedAfter("unnamed", known)?.toSorted()).toEqual(["none", "unnamed"]);
    expect(loadedAfter("gone", known)?.toSorted()).toEqual(["gone", "none"]);
    expect(loadedAfter("none", known)).toBeNull();
  });

  test.each<[string, readonly string[], string | readonly string[] | null]>([
    [
      "the exact name before others",
      ["old/m.safetensors", "m.safetensors", "M.safetensors"],
      "m.safetensors",
    ],
    ["a folder", ["SDXL/m.safetensors", "SDXL/n.safetensors"], "SDXL/m.safetensors"],
    ["a folder of Windows", ["a\\b\\m.safetensors"], "a\\b\\m.safetensors"],
    ["another case", ["M.SafeTensors"], "M.SafeTensors"],
    ["another ending", ["sub/m.ckpt"], "sub/m.ckpt"],
    ["the right ending before another", ["m.ckpt", "sub/m.safetensors"], "sub/m.safetensors"],
    ["the right case before another", ["a/M.safetensors", "b/m.safetensors"], "b/m.safetensors"],
    ["the same choice twice", ["a/m.safetensors", "a/m.safetensors"], "a/m.safetensors"],
    ["several", ["a/m.safetensors", "b/m.safetensors"], ["a/m.safetensors", "b/m.safetensors"]],
    ["a longer name", ["my-m.safetensors", "m.safetensors.bak", "m-fp8.safetensors"], null],
    ["another kind of file", ["m.txt", "m"], null],
    ["nothing", [], null],
  ])("A10: a server that calls a model by %s", (_title, choices, expected) => {
    const found = findModel("m.safetensors", choices);
    expect(found && ("choice" in found ? found.choice : found.several)).toEqual(expected);
  });

  test.each([
    ["SDXL/m.safetensors", ["m.safetensors"], "m.safetensors"],
    [
      "SDXL/m.safetensors",
      ["old/m.safetensors", "checkpoints\\sdxl\\m.safetensors"],
      "checkpoints\\sdxl\\m.safetensors",
    ],
    ["SDXL\\m.safetensors", ["SDXL/m.safetensors", "m.safetensors"], "SDXL/m.safetensors"],
    ["modèle.safetensors", ["modèle.safetensors".normalize("NFD")], "modèle.safetensors".normalize("NFD")],
    ["euler", ["Euler", "x/euler"], null],
    ["a/model.safetensors", ["b/model.safetensors"], null],
    ["a/diffusion_pytorch_model.fp16.safetensors", ["diffusion_pytorch_model.fp16.safetensors"], null],
    ["a/model.safetensors", ["b/model.safetensors", "x/A/model.safetensors"], "x/A/model.safetensors"],
    ["model.safetensors", ["b/model.safetensors"], "b/model.safetensors"],
  ])("A10: the model %s among %j is %s", (wanted, choices, expected) => {
    const found = findModel(wanted, choices);
    expect(found && "choice" in found ? found.choice : null).toBe(expected);
  });

  test("A10: the server's own spelling is written wherever the graph names a model", () => {
    const graph = {
      "1": { class_type: "UpscaleModelLoader", inputs: { model_name: "4x-ESRGAN.pth" } },
      "2": { class_type: "Other", inputs: { model_name: "4x-ESRGAN.pth", text: "4x-ESRGAN.pth" } },
    };
    const choices = readModelChoices([{ graph, params: {} }], server([["ESRGAN\\4x-ESRGAN.pth"]]));
    const spelled = spellModels(graph, choices);
    expect(spelled["1"]?.inputs).toEqual({ model_name: "ESRGAN\\4x-ESRGAN.pth" });
    expect(spelled["2"]).toEqual(graph["2"]);
    expect(graph["1"].inputs.model_name).toBe("4x-ESRGAN.pth");
  });

  test("A10: an optional input of newer nodes is read as well", () => {
    const objectInfo = new Map([
      ["UpscaleModelLoader", { input: { optional: { model_name: [["4x-ESRGAN.pth"]] } } }],
    ]);
    expect(isComplete(findMissing(workflow, objectInfo))).toBe(true);
  });

  test("A10: a class that a server does not have, or was not asked for, is missing", () => {
    for (const objectInfo of [
      new Map<string, ObjectInfo | null>(),
      new Map([["UpscaleModelLoader", null]]),
    ]) {
      const missing = findMissing(workflow, objectInfo);
      expect(missing).toEqual({ classes: ["UpscaleModelLoader"], models: [] });
      expect(isComplete(missing)).toBe(false);
    }
  });

  test.each([
    ["a tenth less than its nominal size", "cuda", 7.6, false],
    ["less", "cuda", 6, true],
    ["less on another kind of card", "xpu", 6, true],
    ["what a driver says that does not know", "privateuseone", 1, false],
    ["nothing", "mps", 0, false],
    ["no figure", "cuda", null, false],
    ["the memory of a CPU", "cpu", 2, false],
    ["no device", null, 3, false],
  ])("D4: a card with %s is a hint: %s, %s GiB, tight %s", (_title, device, hasGib, expected) => {
    const vramBytes = hasGib === null ? null : hasGib * gib;
    expect(isTight(workflow, { device, vramBytes })).toBe(expected);
  });

  test("every built-in workflow finds all that it needs on a server with its models, and names them without", async () => {
    const full = await readSimulatedClasses({ mode: "new" });
    const empty = await readSimulatedClasses({ mode: "new", models: {} });
    for (const builtIn of builtInWorkflows()) {
      expect(isComplete(findMissing(builtIn, full))).toBe(true);
      const listed = listedPlaces(builtIn).filter(({ isRequired }) => isRequired);
      const any = listed.map(({ class: name, input }) => ({ class: name, input, file: "of any name" }));
      const lacks = [...builtIn.models, ...any].map((one) => ({ ...one, several: [] }));
      expect(findMissing(builtIn, empty).models).toEqual(lacks);
    }
  });
});

describe("seeds", () => {
  test.each([
    [5, 0, 10, 5],
    [11, 0, 10, 0],
    [2 ** 53 - 1, 0, 2 ** 32 - 1, 2 ** 32 - 1],
    [2 ** 53 - 1, 0, 2 ** 64, 2 ** 53 - 1],
    [0, 1, 10, 10],
    [7, 3, 3, 3],
    [9, 5, 4, 9],
  ])("the seed %i within %i to %i is %i", (seed, min, max, expected) => {
    expect(seedWithin(seed, { min, max })).toBe(expected);
  });

  test("a drawn seed is within the limits of the manifest, and within 32 bits without any", () => {
    for (let count = 0; count < 200; count++) {
      expect(drawSeed({ type: "seed", to: ["1.seed"] })).toBeLessThan(2 ** 32);
      const few = drawSeed({ type: "seed", min: 3, max: 5, to: ["1.seed"] });
      expect([3, 4, 5]).toContain(few);
    }
  });

  const seeded = (seed: object, max: number) => {
    const { manifest, graph } = sampleFiles();
    const workflow = parseWorkflow({
      name: "seeded",
      isBuiltIn: false,
      manifest: { ...manifest, params: { seed: { type: "seed", to: ["2.blur_radius"], ...seed } } },
      graph,
    });
    const inputs = {
      required: { blur_radius: ["INT", { min: 1, max }], sigma: ["FLOAT", {}], image: ["IMAGE"] },
    };
    return { workflow, objectInfo: new Map<string, ObjectInfo>([["ImageBlur", { input: inputs }]]) };
  };
  const problemsOf = ({ workflow, objectInfo }: ReturnType<typeof seeded>) =>
    checkWorkflow(workflow, objectInfo).filter((line) => line.includes("blur_radius"));

  test("the check tries both limits of a seed, and notes a node that takes less than is drawn", () => {
    expect(problemsOf(seeded({ min: 0, max: 50 }, 31))).toEqual([
      "node 2 (ImageBlur): blur_radius is 0, below the least 1",
      "node 2 (ImageBlur): blur_radius is 50, above the most 31",
    ]);
    expect(problemsOf(seeded({ min: 1, max: 31 }, 31))).toEqual([]);
    const open = seeded({}, 31);
    expect([problemsOf(open), noteWorkflow(open.workflow, open.objectInfo)]).toEqual([
      [],
      ["seeds above 31 are folded into the range of the node; a max in the manifest refuses them"],
    ]);
    expect(() => seeded({ min: 5, max: 4 }, 31)).toThrow("has a min above its max");
  });
});

test.each([
  ["PreviewAny", undefined, true],
  ["SaveWEBM", { images: ["IMAGE"] }, true],
  ["VHS_VideoCombine", { images: ["IMAGE"] }, true],
  ["SaveAudioMP3", { audio: ["AUDIO"] }, true],
  ["UnknownSink", { latent: ["LATENT"] }, true],
  ["SaveImage", { images: ["IMAGE"] }, false],
  ["MaskPreview", { mask: ["MASK"] }, false],
  ["ImageOrAny", { any: ["*"] }, false],
  ["NotOnThisServer", undefined, false],
])("an output node %s that takes %j is noted: %s", (name, required, isNoted) => {
  const { manifest, graph } = sampleFiles();
  const save = { class_type: name, inputs: { images: ["2", 0], filename_prefix: "x" } };
  const source = { name: "odd", isBuiltIn: false, manifest, graph: { ...graph, "3": save } };
  const objectInfo = new Map(required ? [[name, { input: { required } }]] : []);
  const notes = noteWorkflow(parseWorkflow(source), objectInfo);
  expect(notes).toEqual(
    isNoted ? [`node 3 (${name}) is an output, but makes no picture that can be shown`] : [],
  );
});

test("the catalogue has the title and the description of each included workflow, for the other languages", () => {
  const texts = Object.entries(en.shippedWorkflows).map(([name, { title, description }]) => {
    const named = description.replace("{second}", "<image2>").replace("{fourth}", "<image4>");
    return [name, { title, description: named }] as const;
  });
  const own = builtInWorkflows().map(
    ({ name, title, description }) => [name, { title, description }] as const,
  );
  expect(Object.fromEntries(texts)).toEqual(Object.fromEntries(own));
});

/** Of a workflow that needs nothing. */
const bare = { classes: [], models: [], graph: {}, params: {} };

describe("lists of newer nodes and of extensions", () => {
  const dynamic = (options: unknown[]) => ["COMFY_DYNAMICCOMBO_V3", { options }];
  const scale = { key: "scale by", inputs: { required: { factor: ["FLOAT", { min: 0.1, max: 8 }] } } };
  const model = {
    key: "model",
    inputs: {
      required: {
        file: [["4x.pth"], {}],
        tiling: dynamic([{ key: "tiled", inputs: { required: { size: ["INT", {}] } } }]),
      },
    },
  };
  const info: ObjectInfo = {
    input: {
      required: {
        how: dynamic([scale, model, { key: "off", inputs: { required: {} } }]),
        ckpt: [
          [
            { content: "a.safetensors", image: null },
            { content: "b.safetensors", image: "b.png" },
          ],
          {},
        ],
        tags: ["COMBO", { multiselect: true, options: ["x", "y"] }],
        own: ["COMBO", { multiselect: false, options: [] }],
        upscaler: [[], {}],
        mode: ["EASY_COMBO", { options: [{ value: 1, label: "one" }, 2] }],
      },
    },
    output_node: true,
  };
  const right = {
    how: "scale by",
    "how.factor": 2,
    ckpt: { content: "b.safetensors", image: "b.png" },
    tags: { __value__: ["x", "y"] },
    own: "what the user wrote",
    upscaler: "none",
    mode: 1,
  };
  test.each<[string, unknown, unknown, string[]]>([
    ["within those of the chosen branch", "large", 20, []],
    ["above them", "small", 20, ["node 1 (Own): size.x is 20, above the most 5"]],
    ["a picture in another branch", "picture", 20, ["node 1 (Own): size.x takes IMAGE and must be linked"]],
    ["in a branch that is linked", ["1", 0], 20, []],
  ])("an input is checked by the chosen branch: %s", (_title, size, x, problems) => {
    const branch = (key: string, spec: unknown) => ({ key, inputs: { required: { x: spec } } });
    const branches = [
      branch("small", ["INT", { max: 5 }]),
      branch("picture", ["IMAGE", {}]),
      branch("large", ["INT", { max: 50 }]),
    ];
    const sized = { input: { required: { size: dynamic(branches) } }, output: ["*"], output_node: true };
    const graph = { 1: { class_type: "Own", inputs: { size, "size.x": x } } };
    expect(checkGraph(graph as Graph, new Map([["Own", sized]]))).toEqual(problems);
  });

  test("a model is missing when no branch has it; the choices of a node are those of its branch", () => {
    const branch = (key: string, file: string) => ({ key, inputs: { required: { file: [[file], {}] } } });
    const loads = { input: { required: { how: dynamic([branch("a", "1.pth"), branch("b", "2.pth")]) } } };
    const classes = new Map([["Own", loads]]);
    const missing = (file: string) =>
      findMissing({ ...bare, models: [{ class: "Own", input: "how.file", file }] }, classes).models;
    expect([missing("1.pth"), missing("2.pth"), missing("3.pth").length]).toEqual([[], [], 1]);
    const graph = { 1: { class_type: "Own", inputs: { how: "b", "how.file": "2.pth" } } };
    const choices = readModelChoices([{ graph: graph as Graph, params: {} }], classes);
    expect(choices.get("Own.how.file")).toEqual(["2.pth"]);
  });

  test("models of two branches of one class are both spelled as the server does", () => {
    const branch = (key: string, file: string) => ({ key, inputs: { required: { file: [[file], {}] } } });
    const branches = [branch("a", "SDXL/1.safetensors"), branch("b", "Flux/2.safetensors")];
    const classes = new Map([["Own", { input: { required: { how: dynamic(branches) } } }]]);
    const nodeOf = (how: string, file: string) => ({ class_type: "Own", inputs: { how, "how.file": file } });
    const graph = { 1: nodeOf("a", "1.safetensors"), 2: nodeOf("b", "2.safetensors") };
    const spelled = spellModels(graph, readModelChoices([{ graph, params: {} }], classes));
    expect(Object.values(spelled).map(({ inputs }) => inputs["how.file"])).toEqual([
      "SDXL/1.safetensors",
      "Flux/2.safetensors",
    ]);
  });

  const check = (inputs: Record<string, unknown>) => {
    const given = Object.fromEntries(Object.entries(inputs).filter(([, value]) => value !== undefined));
    return checkGraph({ 1: { class_type: "Own", inputs: given } } as Graph, new Map([["Own", info]]));
  };

  test.each<[string, Record<string, unknown>, string[]]>([
    ["right values", {}, []],
    [
      "a nested list",
      { how: "model", "how.file": "4x.pth", "how.tiling": "tiled", "how.tiling.size": 64 },
      [],
    ],
    ["the name of a choice alone", { ckpt: "a.safetensors", tags: ["y"], mode: "2" }, []],
    [
      "an input of the chosen branch that is missing",
      { "how.factor": undefined },
      ["the required input how.factor is missing"],
    ],
    [
      "a nested one",
      { how: "model", "how.file": "4x.pth", "how.tiling": "tiled" },
      ["the required input how.tiling.size is missing"],
    ],
    ["an input of a branch out of its range", { "how.factor": 9 }, ["how.factor is 9, above the most 8"]],
    ["a choice that is not there", { how: "crop" }, ['how is "crop", which is none of scale by, model, off']],
    ["an object that is not there", { ckpt: { content: "c.safetensors" } }, ["ckpt is "]],
    ["a model where there is none", { upscaler: "4x.pth" }, ["but the server has nothing to choose from"]],
    ["one of several that is not there", { tags: ["x", "z"] }, ["tags is "]],
  ])("%s", (_name, inputs, problems) => {
    const found = check({ ...right, ...inputs });
    expect(found).toHaveLength(problems.length);
    problems.forEach((problem, at) => expect(found[at]).toContain(problem));
  });

  /** Joins pictures of one type, which it gives out as well, and changes them by LoRAs. */
  const grown = (template: object) => ["COMFY_AUTOGROW_V3", { template }];
  const matched = ["COMFY_MATCHTYPE_V3", { template: { template_id: "t", allowed_types: "IMAGE,MASK" } }];
  const named = { input: { optional: { name: [["SDXL/a.safetensors"], {}] } }, names: ["first", "second"] };
  const joins: ObjectInfo = {
    input: {
      required: {
        images: grown({ input: { required: { image: ["IMAGE", {}] } }, prefix: "image", min: 2, max: 9 }),
        like: matched,
      },
      optional: { loras: grown(named), either: ["LATENT, MASK", {}] },
    },
    output: ["COMFY_MATCHTYPE_V3"],
    output_node: true,
  };
  const sources: ObjectInfo = { input: {}, output: ["IMAGE", "MASK", "MODEL"] };
  const ofJoins = new Map([
    ["Joins", joins],
    ["Sources", sources],
  ]);
  const [picture, mask, other] = [0, 1, 2].map((output) => ["1", output]);
  const joined = { "images.image0": picture, "images.image1": picture, like: mask };

  test.each<[string, Record<string, unknown>, string[]]>([
    ["as many as it needs", joined, []],
    ["a further one", { ...joined, "images.image8": picture, either: mask }, []],
    ["what it gives out itself", { ...joined, "images.image1": ["3", 0] }, []],
    ["one too few", { ...joined, "images.image1": undefined }, ["required input images.image1 is missing"]],
    ["one of another type", { ...joined, "images.image1": mask }, ["images.image1 takes IMAGE, but is"]],
    ["a type of no alternative", { ...joined, either: other }, ["either takes LATENT, MASK, but is"]],
    ["a model that is there", { ...joined, "loras.first": "a.safetensors" }, []],
    ["one that is not", { ...joined, "loras.second": "b.safetensors" }, ["loras.second is"]],
  ])("inputs that grow, and types that follow others: %s", (_name, inputs, problems) => {
    const given = Object.fromEntries(Object.entries(inputs).filter(([, value]) => value !== undefined));
    const nodes = { 1: { class_type: "Sources", inputs: {} }, 2: { class_type: "Joins", inputs: given } };
    const graph = { ...nodes, 3: { class_type: "Joins", inputs: joined } };
    const found = checkGraph(graph as unknown as Graph, ofJoins);
    expect(found).toHaveLength(problems.length);
    problems.forEach((problem, at) => expect(found[at]).toContain(problem));
  });

  test("models of inputs that grow are found under the server's own spelling", () => {
    const models = ["a.safetensors", "b.safetensors"].map((file) => ({
      class: "Joins",
      input: "loras.second",
      file,
    }));
    expect(findMissing({ ...bare, models }, ofJoins).models).toMatchObject([{ file: "b.safetensors" }]);
    const graph = { 1: { class_type: "Joins", inputs: { "loras.second": "a.safetensors" } } };
    const choices = readModelChoices([{ graph, params: {} }], ofJoins);
    expect(spellModels(graph, choices)["1"]?.inputs["loras.second"]).toBe("SDXL/a.safetensors");
  });

  test("models of such lists are found under the server's own spelling", () => {
    const listed: ObjectInfo = {
      input: {
        required: { how: dynamic([model]), ckpt: [[{ content: "SDXL/a.safetensors", image: null }], {}] },
      },
    };
    const models = [
      { class: "Own", input: "how.file", file: "4x.pth" },
      { class: "Own", input: "ckpt", file: "a.safetensors" },
    ];
    const objectInfo = new Map([["Own", listed]]);
    expect(findMissing({ ...bare, classes: ["Own"], models }, objectInfo)).toEqual({
      classes: [],
      models: [],
    });
    const graph = { 1: { class_type: "Own", inputs: { ckpt: "a.safetensors", "how.file": "4x.pth" } } };
    const choices = readModelChoices([{ graph, params: {} }], objectInfo);
    expect(choices.get("Own.ckpt")).toEqual(["SDXL/a.safetensors"]);
    expect(spellModels(graph, choices)["1"]?.inputs["ckpt"]).toBe("SDXL/a.safetensors");
  });
});
