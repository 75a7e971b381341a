import { expect, test } from "vitest";
import { categoryFor, lookbookRequest } from "./order.ts";

const top = { imageId: "tee", category: "top" } as const;
const skirt = { imageId: "skirt", category: "bottom" } as const;
const shoes = { imageId: "boots", category: "shoes" } as const;
const unknown = { imageId: "cloth", category: null } as const;
const workflow = { name: "tryon", cloud: null, params: {} };

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
  const chosen = { title: "Spring", personIds: ["ada", "max"], garments: [top, unknown], engine: null };
  expect(lookbookRequest(chosen)).toMatchObject({
    title: "Spring",
    base: { kind: "outfit_change", engine: "local", params: { consent: true } },
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
  expect(lookbookRequest({ ...chosen, garments: [] })).toBeNull();
  expect(lookbookRequest({ ...chosen, garments: [skirt] })).toBeNull();
});
