import { readSimulatedClasses } from "@atelier/testing/workflows";
import { expect, test } from "vitest";
import { builtInWorkflows } from "./built-in.ts";
import { findMissing, isComplete } from "./find-missing.ts";
import type { ObjectInfo } from "./object-info.ts";

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
  for (const objectInfo of [new Map<string, ObjectInfo | null>(), new Map([["UpscaleModelLoader", null]])]) {
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
