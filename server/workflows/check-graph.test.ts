import { readSimulatedClasses, sampleFiles } from "@atelier/testing/workflows";
import { beforeAll, expect, test } from "vitest";
import { checkGraph } from "./check.ts";
import type { Graph } from "./graph.ts";
import type { ObjectInfoByClass } from "./object-info.ts";

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
