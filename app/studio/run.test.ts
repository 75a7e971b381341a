import { expect, test } from "vitest";
import { studio } from "./state.ts";
import { layOut, usedInputs, type StudioInputs } from "./try-on.ts";

const input = (role: "person" | "garment" | "mask", imageId: string) => ({ role, imageId });
const job: Parameters<typeof usedInputs>[0] = {
  inputs: [input("person", "p"), input("garment", "g")],
  params: { category: "auto" },
  workflow: null,
  model: null,
  engine: "local",
};
const current: StudioInputs = {
  personId: "p",
  garmentId: "g",
  more: [],
  category: "auto",
  chosen: null,
  name: "local",
  prompt: "",
  maskId: undefined,
};

test("A12 other marks than those that went along can be run", () => {
  const marked = { ...job, inputs: [...job.inputs, input("mask", "m")] };
  expect(usedInputs(marked, { ...current, maskId: "m" })).toBe(true);
  expect(usedInputs(marked, { ...current, maskId: "other" })).toBe(false);
  expect(usedInputs(marked, { ...current, maskId: null })).toBe(false);
  expect(usedInputs(marked, current)).toBe(false);
  expect(usedInputs(job, current)).toBe(true);
  expect(usedInputs(job, { ...current, maskId: null })).toBe(false);
});

test("A12 a category that the engine does not know is requested as auto", () => {
  expect(usedInputs(job, { ...current, category: "bottom" })).toBe(true);
  expect(usedInputs(job, { ...current, category: "dress" })).toBe(false);
});

test.each([
  [{ workflow: null, model: null }, "local"],
  [{ workflow: "try-on", model: null }, "try-on"],
  [{ workflow: null, model: "fal-ai/try-on" }, "cloud/fal-ai/try-on"],
])("A12 a remix is laid out for what made the picture: %o", (made, engine) => {
  layOut({ ...job, ...made });
  expect(studio.get()).toMatchObject({ personId: "p", garmentId: "g", engine, jobId: null });
});
