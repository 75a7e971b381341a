import { expect, test } from "vitest";
import { offeredWorkflow } from "@atelier/testing/workflows";
import { emptyForm, readForm } from "./form.ts";
import { batchOf } from "./creations.ts";
import { addToSeed, nearestAllowed, resolveSetting } from "../client/numbers.ts";
import { formOfJob, buildRequests, sizeForAspect, chosenSize } from "./requests.ts";

const side = { type: "integer", min: 256, max: 1_536, multipleOf: 16, default: 1_024 } as const;
const workflow = offeredWorkflow({
  name: "large",
  kind: "text_to_image",
  inputs: [],
  params: {
    prompt: { type: "text", required: true },
    width: side,
    height: side,
    steps: { type: "integer", min: 1, max: 50, default: 20 },
    guidance: { type: "number", min: 1, max: 10, default: 3.5 },
    seed: { type: "seed" },
  },
});

test("A4 a size keeps its proportions and stays on the workflow's grid and within its range", () => {
  expect(sizeForAspect(workflow, "1:1")).toEqual({ width: 1_024, height: 1_024 });
  expect(sizeForAspect(workflow, "16:9")).toEqual({ width: 1_360, height: 768 });
  expect(sizeForAspect(workflow, "9:16")).toEqual({ width: 768, height: 1_360 });
  const own = { aspect: null, widthPx: 5_000, heightPx: 100 };
  expect(chosenSize(own, workflow)).toEqual({ width: 1_536, height: 256 });
  expect(chosenSize(emptyForm, { params: {} })).toBeNull();
});

test("A4 a number outside the range, or off the grid, becomes the nearest that is accepted", () => {
  expect(nearestAllowed(1_000, side)).toBe(1_008);
  expect(nearestAllowed(2.25, { type: "number", min: 1, max: 10 })).toBe(2.25);
  expect(resolveSetting({ type: "integer", min: 1, max: 8, default: 4 }, 20)).toBe(8);
  expect(resolveSetting({ type: "integer", min: 1, max: 8, default: 4 }, undefined)).toBe(4);
  expect(resolveSetting(undefined, 4)).toBeUndefined();
});

test("A4 each picture is a request of its own, and a given seed counts up", () => {
  const form = { ...emptyForm, prompt: " a lighthouse ", count: 3, seed: 7, negativePrompt: "fog" };
  const requests = buildRequests(form, workflow);
  expect(requests.map(({ params }) => params.seed)).toEqual([7, 8, 9]);
  expect(requests[0]).toEqual({
    kind: "text_to_image",
    workflow: "large",
    inputs: {},
    params: { prompt: "a lighthouse", width: 1_024, height: 1_024, steps: 20, guidance: 3.5, seed: 7 },
  });
  expect(buildRequests({ ...form, seed: null }, workflow)[2]?.params).not.toHaveProperty("seed");
  expect(addToSeed(Number.MAX_SAFE_INTEGER, 2)).toBe(1);
});

test("A4 the form of a job makes the same request again", () => {
  const form = { ...emptyForm, prompt: "a lighthouse", aspect: "3:2" as const, seed: 7, count: 1 };
  const [request] = buildRequests({ ...form, settings: { large: { steps: 30 } } }, workflow);
  const params = request?.params ?? {};
  const again = formOfJob({ params, workflow: "large", model: null }, emptyForm, [workflow]);
  expect(again).toMatchObject({ aspect: "3:2", seed: 7, settings: { large: { steps: 30, guidance: 3.5 } } });
  expect(buildRequests({ ...emptyForm, ...again }, workflow)).toEqual([request]);
  const odd = formOfJob({ params: { ...params, width: 512 }, workflow: "large", model: null }, emptyForm, [
    workflow,
  ]);
  expect(odd).toMatchObject({ aspect: null, widthPx: 512 });
});

test("A4 what is stored is read field by field; what is not understood is left out", () => {
  expect(readForm(null)).toEqual(emptyForm);
  expect(readForm("{")).toEqual(emptyForm);
  const stored = {
    prompt: "a lighthouse",
    count: 90,
    seed: -1,
    aspect: "7:1",
    settings: { large: { steps: "x" } },
  };
  expect(readForm(JSON.stringify(stored))).toEqual({
    ...emptyForm,
    prompt: "a lighthouse",
    count: 8,
    settings: { large: {} },
  });
});

test("several pictures are one batch, named after their prompt in one line", () => {
  const form = { ...emptyForm, prompt: ` a cup\n${"x".repeat(300)}`, count: 3, seed: 7 };
  const batch = batchOf(buildRequests(form, workflow));
  expect(batch.title).toMatch(/^a cup x+$/);
  expect(batch.title).toHaveLength(80);
  expect(batch).toMatchObject({ jobs: [7, 8, 9].map((seed) => ({ params: { seed } })) });
});
