import { expect, test } from "vitest";
import type { OfferedWorkflow } from "../../client/queries.ts";
import { mostReferences } from "./change.tsx";

function edits(...roles: readonly ("reference" | "reference2" | "reference3")[]): OfferedWorkflow {
  return {
    name: `edit with ${roles.length}`,
    title: "Edit",
    description: "",
    kind: "edit",
    rank: 1,
    vramGib: 8,
    isLive: true,
    cloud: null,
    missing: [],
    params: { prompt: { type: "text", required: true } },
    inputs: [{ role: "image", required: true }, ...roles.map((role) => ({ role, required: false }) as const)],
  };
}

test("as many references are offered as some live workflow takes with a prompt", () => {
  expect(mostReferences(undefined)).toBe(0);
  expect(mostReferences([edits()])).toBe(0);
  expect(mostReferences([edits(), edits("reference", "reference2")])).toBe(2);
  const three = edits("reference", "reference2", "reference3");
  expect(mostReferences([edits("reference"), three])).toBe(3);
  expect(mostReferences([edits("reference"), { ...three, isLive: false }])).toBe(1);
});
