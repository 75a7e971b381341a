import { expect, test } from "vitest";
import { shownKind } from "./kinds.ts";

test("A12 to remove an object is not called repainting", () => {
  expect(shownKind({ kind: "inpaint", params: {} })).toBe("removal");
  expect(shownKind({ kind: "inpaint", params: { prompt: "a vase" } })).toBe("repainting");
  expect(shownKind({ kind: "upscale", params: {} })).toBe("upscale");
});
