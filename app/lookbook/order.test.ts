import { expect, test } from "vitest";
import type { OfferedWorkflow } from "../client/queries.ts";
import { categoryFor, lookbookRequest } from "./order.ts";

const top = { imageId: "tee", category: "top" } as const;
const skirt = { imageId: "skirt", category: "bottom" } as const;
const shoes = { imageId: "boots", category: "shoes" } as const;
const unknown = { imageId: "cloth", category: null } as const;
/** A workflow as it is offered, with the members that an order reads. */
const workflow = {
  name: "tryon",
  cloud: null,
  params: {},
  inputs: ["person", "garment", "garment2"].map((role) => ({ role, required: role !== "garment2" })),
} as unknown as OfferedWorkflow;

test("C1 a garment is ordered in its category, or not where the engine cannot do that", () => {
  expect([top, skirt, shoes, unknown].map((one) => categoryFor(one, null))).toEqual([
    "top",
    null,
    null,
    "auto",
  ]);
  expect([top, skirt, shoes, unknown].map((one) => categoryFor(one, workflow))).toEqual([
    "top",
    "bottom",
    null,
    "auto",
  ]);
});

test("C1 a lookbook is one batch of persons by garments, each garment with its category", () => {
  const chosen = { title: "Spring", personIds: ["ada", "max"], looks: [[top], [unknown]], engine: null };
  expect(lookbookRequest(chosen)).toMatchObject({
    title: "Spring",
    base: { kind: "outfit_change", engine: "local", params: { category: "top" } },
    axes: [
      { param: "inputs.person", values: ["ada", "max"] },
      {
        param: "inputs.garment",
        values: ["tee", "cloth"],
        along: [{ param: "category", values: ["top", "auto"] }],
      },
    ],
  });
  expect(lookbookRequest({ ...chosen, personIds: [] })).toBeNull();
  expect(lookbookRequest({ ...chosen, looks: [] })).toBeNull();
  expect(lookbookRequest({ ...chosen, looks: [[skirt]] })).toBeNull();
});

test("C1 a look of several pieces is one run where the engine takes them, else passes that follow each other", () => {
  const chosen = { title: "Spring", personIds: ["ada", "max"], looks: [[top, skirt], [unknown]] };
  const once = lookbookRequest({ ...chosen, engine: workflow });
  expect(once).toMatchObject({
    title: "Spring",
    jobs: [
      { inputs: { person: "ada", garment: "tee", garment2: "skirt" } },
      { inputs: { person: "ada", garment: "cloth" } },
      { inputs: { person: "max", garment: "tee", garment2: "skirt" } },
      { inputs: { person: "max", garment: "cloth" } },
    ],
    axes: [
      { param: "inputs.person", values: ["ada", "max"] },
      {
        param: "inputs.garment",
        values: ["tee", "cloth"],
        along: [{ param: "inputs.garment2", values: ["skirt", ""] }],
      },
    ],
  });
  const dress = { imageId: "dress", category: "dress" } as const;
  const passes = lookbookRequest({ ...chosen, looks: [[top, dress]], engine: null });
  expect(passes).toMatchObject({
    jobs: [
      { inputs: { person: "ada", garment: "dress" }, steps: [{ inputs: { garment: "tee" } }] },
      { inputs: { person: "max", garment: "dress" }, steps: [{ inputs: { garment: "tee" } }] },
    ],
  });
  expect(lookbookRequest({ ...chosen, engine: null })).toBeNull();
});
