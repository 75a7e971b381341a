import { expect, test } from "vitest";
import type { OfferedWorkflow } from "../client/queries.ts";
import { hidesOne, inPassOrder, planOutfit, takesAtOnce } from "./outfit.ts";

/** A workflow as the studio is offered it, with the members that a plan reads. */
function workflowWith(...roles: readonly string[]): OfferedWorkflow {
  const workflow = {
    name: "tryon",
    cloud: null,
    params: {},
    inputs: roles.map((role) => ({ role, required: role === "person" || role === "garment" })),
  };
  // Safe cast: the other members are read by nothing here.
  return workflow as unknown as OfferedWorkflow;
}

const jacket = { imageId: "jacket", category: "top" } as const;
const jeans = { imageId: "jeans", category: "bottom" } as const;
const scarf = { imageId: "scarf", category: "auto" } as const;
const dress = { imageId: "dress", category: "dress" } as const;
const common = { person: "ada", mask: null, prompt: "" };
const two = workflowWith("person", "garment", "garment2");

test("C1 an engine that takes all pieces dresses them in one run", () => {
  const plan = planOutfit({ ...common, pieces: [jacket, jeans], workflow: two });
  expect(plan).toMatchObject({
    way: "run",
    request: {
      workflow: "tryon",
      params: { category: "auto" },
      inputs: { person: "ada", garment: "jacket", garment2: "jeans" },
    },
  });
  expect([1, 2, 3].map((count) => takesAtOnce(two, count))).toEqual([true, true, false]);
  expect([1, 2].map((count) => takesAtOnce(null, count))).toEqual([true, false]);
});

test("C1 else passes follow each other as one order, what is worn below first", () => {
  const plan = planOutfit({ ...common, pieces: [jacket, scarf, jeans], workflow: two });
  expect(plan).toEqual({
    way: "passes",
    count: 3,
    input: {
      jobs: [
        {
          kind: "outfit_change",
          workflow: "tryon",
          params: { category: "bottom" },
          inputs: { person: "ada", garment: "jeans" },
          steps: [
            {
              kind: "outfit_change",
              workflow: "tryon",
              params: { category: "top" },
              inputs: { garment: "jacket" },
            },
            {
              kind: "outfit_change",
              workflow: "tryon",
              params: { category: "auto" },
              inputs: { garment: "scarf" },
            },
          ],
        },
      ],
    },
  });
  expect(inPassOrder([jacket, dress]).map(({ imageId }) => imageId)).toEqual(["dress", "jacket"]);
});

test("C1 one piece is ordered as ever, and none not at all", () => {
  const plan = planOutfit({ ...common, pieces: [dress], workflow: null });
  expect(plan).toEqual({
    way: "run",
    request: {
      kind: "outfit_change",
      engine: "local",
      params: { category: "dress" },
      inputs: { person: "ada", garment: "dress" },
    },
  });
  expect(planOutfit({ ...common, pieces: [], workflow: null })).toBeNull();
});

test("C1 two pieces of one category, or a dress with more, cover each other", () => {
  expect(hidesOne([jacket, jeans], two)).toBe(false);
  expect(hidesOne([jacket, { ...jacket, imageId: "shirt" }], two)).toBe(true);
  expect(hidesOne([dress, jeans], two)).toBe(true);
  expect(hidesOne([scarf, { ...scarf, imageId: "belt" }], two)).toBe(false);
});
