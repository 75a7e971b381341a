import { expect, test } from "vitest";
import { offeredWorkflow } from "@atelier/testing/workflows";
import { mostReferences } from "./change.tsx";

const edits = (...roles: readonly ("reference" | "reference2" | "reference3")[]) =>
  offeredWorkflow({
    inputs: [{ role: "image", required: true }, ...roles.map((role) => ({ role, required: false }) as const)],
  });

test("as many references are offered as some live workflow takes with a prompt", () => {
  expect(mostReferences(undefined)).toBe(0);
  expect(mostReferences([edits()])).toBe(0);
  expect(mostReferences([edits(), edits("reference", "reference2")])).toBe(2);
  const three = edits("reference", "reference2", "reference3");
  expect(mostReferences([edits("reference"), three])).toBe(3);
  expect(mostReferences([edits("reference"), { ...three, isLive: false }])).toBe(1);
});
