import { expect, test } from "vitest";
import { findSettings } from "../carried/index.ts";
import { parametersText } from "./carry-settings.ts";

test("a checkpoint, a sampler and a scheduler are written as A1111 calls them, and are read as the same again", () => {
  const params = {
    prompt: "a fox",
    steps: 20,
    seed: 7,
    checkpoint: "XL/Painted, World.ckpt",
    sampler: "dpmpp_2s_ancestral",
    scheduler: "ddim_uniform",
  };
  const text = parametersText({ workflow: "t2i_checkpoint", model: null, params }) ?? "";
  expect(text).toBe(
    'a fox\nSteps: 20, Sampler: DPM++ 2S a, Schedule type: DDIM, Seed: 7, Model: "Painted, World", Version: Atelier',
  );
  expect(findSettings([{ name: "parameters", text }])).toMatchObject({
    model: "Painted, World",
    sampler: "dpmpp_2s_ancestral",
    scheduler: "ddim_uniform",
    others: [],
  });
});
