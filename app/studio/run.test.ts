import { expect, test } from "vitest";
import { isAbout, type Table } from "./run.ts";

const input = (role: "person" | "garment" | "mask", imageId: string) => ({ role, imageId });
const job: Parameters<typeof isAbout>[0] = {
  inputs: [input("person", "p"), input("garment", "g")],
  params: { category: "auto" },
  workflow: null,
  engine: "local",
};
const table: Table = {
  personId: "p",
  garmentId: "g",
  category: "auto",
  chosen: null,
  name: "local",
  prompt: "",
  maskId: undefined,
};

test("A12 other marks than those that went along can be run", () => {
  const marked = { ...job, inputs: [...job.inputs, input("mask", "m")] };
  expect(isAbout(marked, { ...table, maskId: "m" })).toBe(true);
  expect(isAbout(marked, { ...table, maskId: "other" })).toBe(false);
  expect(isAbout(marked, { ...table, maskId: null })).toBe(false);
  expect(isAbout(marked, table)).toBe(false);
  expect(isAbout(job, table)).toBe(true);
  expect(isAbout(job, { ...table, maskId: null })).toBe(false);
});

test("A12 a category that the engine does not know was asked for as any", () => {
  expect(isAbout(job, { ...table, category: "bottom" })).toBe(true);
  expect(isAbout(job, { ...table, category: "dress" })).toBe(false);
});
