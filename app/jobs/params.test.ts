import { expect, test } from "vitest";
import { paramRows, promptsOf } from "./params.ts";

test("A4 the settings of a picture are told in one order, without its words", () => {
  const params = {
    seed: 7,
    prompt: "a fox",
    steps: 8,
    width: 640,
    height: 480,
    consent: true,
    guidance: 3.5,
  };
  expect(paramRows(params)).toEqual([
    { name: "size", value: "640 × 480" },
    { name: "steps", value: "8" },
    { name: "guidance", value: "3.5" },
    { name: "seed", value: "7" },
  ]);
  expect(promptsOf(params)).toEqual({ prompt: "a fox", negativePrompt: "" });
});
