import { beforeAll, describe, expect, test } from "vitest";
import { readSimulatedClasses, sampleFiles } from "@atelier/testing/workflows";
import { builtInWorkflows } from "./built-in.ts";
import { checkGraph, findMissing, isComplete, type ObjectInfo, type ObjectInfoByClass } from "./check.ts";
import type { Graph } from "./workflow.ts";

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
  const workflow = { classes: ["UpscaleModelLoader"], models: [model], vramGib: 8 };

  const server = (spec: unknown, facts: { vramBytes?: number; deviceType?: string } = {}) => ({
    objectInfo: new Map([["UpscaleModelLoader", { input: { required: { model_name: spec } } }]]),
    vramBytes: 8 * gib,
    deviceType: "cuda",
    ...facts,
  });

  test.each([
    ["older nodes", (files: string[]) => [files, { tooltip: "The model" }]],
    ["newer nodes", (files: string[]) => ["COMBO", { multiselect: false, options: files }]],
  ])("A10: a model is looked for in the list of %s", (_title, specOf) => {
    const has = findMissing(workflow, server(specOf(["2x.pth", "4x-ESRGAN.pth"])));
    expect(has).toEqual({ classes: [], models: [], vram: null });
    expect(isComplete(has)).toBe(true);
    const lacks = findMissing(workflow, server(specOf(["2x.pth"])));
    expect(lacks.models).toEqual([model]);
    expect(isComplete(lacks)).toBe(false);
    expect(findMissing(workflow, server(specOf([]))).models).toEqual([model]);
  });

  test("A10: an optional input of newer nodes is read as well", () => {
    const objectInfo = new Map([
      ["UpscaleModelLoader", { input: { optional: { model_name: [["4x-ESRGAN.pth"]] } } }],
    ]);
    expect(isComplete(findMissing(workflow, { ...server(null), objectInfo }))).toBe(true);
  });

  test("A10: a class that a server does not have, or was not asked for, is missing", () => {
    for (const objectInfo of [
      new Map<string, ObjectInfo | null>(),
      new Map([["UpscaleModelLoader", null]]),
    ]) {
      const missing = findMissing(workflow, { ...server(null), objectInfo });
      expect(missing).toEqual({ classes: ["UpscaleModelLoader"], models: [], vram: null });
      expect(isComplete(missing)).toBe(false);
    }
  });

  test("D4: memory of the card counts with the tenth that cards keep for themselves, on a CPU not at all", () => {
    const vramOf = (vramBytes: number, deviceType = "cuda") =>
      findMissing(workflow, server([["4x-ESRGAN.pth"]], { vramBytes, deviceType })).vram;
    expect(vramOf(7.6 * gib)).toBeNull();
    expect(vramOf(6 * gib)).toEqual({ needGib: 8, hasGib: 6 });
    expect(vramOf(2 * gib, "cpu")).toBeNull();
  });

  test("every built-in workflow finds all that it needs on a server with its models, and names them without", async () => {
    const full = await readSimulatedClasses();
    const empty = await readSimulatedClasses({ models: {} });
    const vram = { vramBytes: 24 * gib, deviceType: "cuda" };
    for (const builtIn of builtInWorkflows) {
      expect(isComplete(findMissing(builtIn, { objectInfo: full, ...vram }))).toBe(true);
      expect(findMissing(builtIn, { objectInfo: empty, ...vram }).models).toEqual(builtIn.models);
    }
  });
});
