import { describe, expect, test } from "vitest";
import { offeredWorkflow } from "@atelier/testing/workflows";
import { candidateRequest } from "../document/candidate-run.tsx";
import { noRun, paramsOfRun, runsOf, settingsTaken, withoutSettings } from "./run.ts";

const soft = offeredWorkflow({
  name: "soft",
  kind: "inpaint",
  params: {
    prompt: { type: "text" },
    negativePrompt: { type: "text" },
    strength: { type: "number", min: 0.6, max: 1, default: 0.85 },
    steps: { type: "integer", min: 1, max: 400, default: 25 },
    seed: { type: "seed", max: 9 },
  },
});
const fill = offeredWorkflow({
  name: "fill",
  kind: "inpaint",
  params: { prompt: { type: "text" }, steps: { type: "integer", choices: { "4": 4, "8": 8 } } },
});
const paid = offeredWorkflow({
  name: "cloud/paid",
  kind: "inpaint",
  cloud: { model: "paid", provider: "fal", priceUsd: 0.05 },
});

describe("what can run", () => {
  const offered = [soft, { ...fill, isLive: false }, paid];
  const fits = () => true;

  test.each([
    ["nothing was chosen", undefined, undefined, null],
    ["it is there", "cloud/paid", "cloud/paid", null],
    ["its server is away", "fill", undefined, "fill"],
    ["it was removed", "cloud/other", undefined, "cloud/other"],
  ])("where %s", (_what, wanted, chosen, lost) => {
    const found = runsOf({ offered, fits, wanted });
    expect(found.options.map(({ name }) => name)).toEqual(["soft", "cloud/paid"]);
    expect([found.chosen?.name, found.lost]).toEqual([chosen, lost]);
  });

  test("what does not fit any more is not run, and is lost; nothing is lost before it is known what is offered", () => {
    const other = runsOf({ offered, fits: ({ name }) => name !== "soft", wanted: "soft" });
    expect([other.options.map(({ name }) => name), other.chosen, other.lost]).toEqual([
      ["cloud/paid"],
      undefined,
      "soft",
    ]);
    expect(runsOf({ offered: undefined, fits, wanted: "soft" })).toMatchObject({ options: [], lost: null });
  });
});

describe("the settings of a run", () => {
  const settings = {
    ...noRun,
    negativePrompt: " text ",
    seed: 12,
    numbers: { soft: { strength: 0.2, steps: 300, guidance: 4 }, fill: { steps: 5 } },
  };

  test("a run gets what it takes, in its range and that of requests, and of its own numbers only", () => {
    expect(paramsOfRun(settings, soft)).toEqual({
      strength: 0.6,
      steps: 200,
      negativePrompt: "text",
      seed: 9,
    });
    expect(paramsOfRun(settings, fill)).toEqual({ steps: 4 });
    expect(paramsOfRun(settings, paid)).toEqual({});
    expect(paramsOfRun(settings, undefined)).toEqual({});
  });

  test("a default that was typed is none that differs, and one press sets back those of this run", () => {
    const numbers = { soft: { strength: 0.85, steps: 25 } };
    expect(paramsOfRun({ ...noRun, numbers }, soft)).toEqual({});
    const back = { ...settings, ...withoutSettings(settings, soft) };
    expect(back).toEqual({ ...noRun, numbers: { fill: { steps: 5 } } });
    expect(paramsOfRun(back, soft)).toEqual({});
  });

  test("a request of a kind without a setting never has it, whatever the workflow declares", () => {
    const { params } = soft;
    expect(Object.keys(settingsTaken({ kind: "expand", params }))).toEqual([
      "steps",
      "negativePrompt",
      "seed",
    ]);
    expect(settingsTaken({ kind: "remove_background", params })).toEqual({});
    expect(settingsTaken(soft).steps).toMatchObject({ min: 1, max: 200, default: 25 });
    expect(settingsTaken(fill).steps).toMatchObject({ min: 4, max: 8 });
  });
});

test("of several candidates each has its own seed, also beyond the largest one; a random one stays random", () => {
  const request = { kind: "inpaint", params: { prompt: "moss", seed: 8 }, inputs: { image: "a" } } as const;
  const seeds = [0, 1, 2].map((at) => candidateRequest(request, at, { type: "seed", max: 9 }));
  expect(seeds.map(({ params }) => params)).toEqual([8, 9, 0].map((seed) => ({ prompt: "moss", seed })));
  const random = { kind: "inpaint", params: { prompt: "moss" }, inputs: { image: "a" } } as const;
  expect(candidateRequest(random, 1)).toBe(random);
});
