import { expect, test } from "vitest";
import { offeredWorkflow } from "@atelier/testing/workflows";
import { findForScale, findForPrompt } from "./parts.tsx";

const base = offeredWorkflow({
  inputs: [
    { role: "image", required: true },
    { role: "reference", required: false },
  ],
});

test("A12 a prompt is offered when a live workflow takes one and the given pictures", () => {
  expect(findForPrompt([base], ["image"])?.name).toBe("prompt");
  expect(findForPrompt([base], ["image", "reference"])?.name).toBe("prompt");
  expect(findForPrompt([base], ["image", "mask"])).toBeUndefined();
  expect(findForPrompt([{ ...base, isLive: false }], ["image"])).toBeUndefined();
  expect(findForPrompt([{ ...base, params: {} }], ["image"])).toBeUndefined();
  expect(findForPrompt(undefined, ["image"])).toBeUndefined();
});

test("A12 a factor is offered when a live workflow has it among its choices", () => {
  const choices = { "2": 0.5, "4": 1 };
  const both = { ...base, name: "both", params: { scale: { type: "integer", choices } as const } };
  expect(findForScale([base, both], 4)?.name).toBe("both");
  expect(findForScale([base], 4)).toBeUndefined();
});
