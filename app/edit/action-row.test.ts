import { expect, test } from "vitest";
import type { OfferedWorkflow } from "../client/queries.ts";
import { findForScale, findForWords } from "./action-row.tsx";

const base: OfferedWorkflow = {
  name: "words",
  title: "Words",
  description: "",
  kind: "edit",
  rank: 1,
  vramGib: 8,
  isLive: true,
  missing: [],
  params: { prompt: { type: "text", required: true } },
  inputs: [
    { role: "image", required: true },
    { role: "reference", required: false },
  ],
};

test("A12 words are offered when a live workflow takes them and the pictures at hand", () => {
  expect(findForWords([base], ["image"])?.name).toBe("words");
  expect(findForWords([base], ["image", "reference"])?.name).toBe("words");
  expect(findForWords([base], ["image", "mask"])).toBeUndefined();
  expect(findForWords([{ ...base, isLive: false }], ["image"])).toBeUndefined();
  expect(findForWords([{ ...base, params: {} }], ["image"])).toBeUndefined();
  expect(findForWords(undefined, ["image"])).toBeUndefined();
});

test("A12 a factor is offered when a live workflow has it among its choices", () => {
  const choices = { "2": 0.5, "4": 1 };
  const both = { ...base, name: "both", params: { scale: { type: "integer", choices } as const } };
  expect(findForScale([base, both], 4)?.name).toBe("both");
  expect(findForScale([base], 4)).toBeUndefined();
});
