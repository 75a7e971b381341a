import { offeredWorkflow } from "@atelier/testing/workflows";
import { carriedExamples } from "@atelier/testing/carried";
import { expect, test } from "vitest";
import { emptyForm } from "../form.ts";
import { formOfJob } from "../requests.ts";
import { fillingOf } from "./fill.ts";
import { findSettings, noSettings } from "@atelier/server/carried";

const side = { type: "integer", min: 512, max: 2_048, multipleOf: 8, default: 1_024 } as const;
const sdxl = offeredWorkflow({
  name: "t2i_sdxl",
  title: "Stable Diffusion XL",
  kind: "text_to_image",
  models: ["sd_xl_base_1.0.safetensors"],
  params: {
    prompt: { type: "text", required: true },
    negativePrompt: { type: "text" },
    width: side,
    height: side,
    steps: { type: "integer", min: 1, max: 100, default: 25 },
    guidance: { type: "number", min: 1, max: 20, default: 7 },
    seed: { type: "seed" },
    sampler: { type: "listed", default: "euler" },
    scheduler: { type: "listed", default: "normal" },
  },
});
const anyCheckpoint = offeredWorkflow({
  name: "any",
  title: "Any checkpoint",
  kind: "text_to_image",
  params: { ...sdxl.params, checkpoint: { type: "listed", required: true } },
});
const turbo = offeredWorkflow({
  name: "turbo",
  title: "Turbo",
  kind: "text_to_image",
  params: {
    prompt: { type: "text", required: true },
    width: side,
    height: side,
    steps: { type: "integer", min: 1, max: 12, default: 8 },
  },
});
const cloud = offeredWorkflow({
  name: "cloud/large",
  title: "Large",
  kind: "text_to_image",
  cloud: { model: "large", provider: "fal", priceUsd: 0.1 },
});
const offered = [turbo, sdxl, cloud];

const found = (name: string, text: string) => {
  const settings = findSettings([{ name, text }]);
  if (settings === null) throw new Error("no settings");
  return settings;
};

test("the settings of each program fill the same form, with the workflow that has the model", () => {
  const files = [
    found("parameters", carriedExamples.a1111),
    found("parameters", carriedExamples.swarmui),
    found("prompt", carriedExamples.comfyui),
  ];
  for (const settings of files) {
    const { job, title, lacks } = fillingOf(settings, {
      workflows: offered,
      chosenName: null,
      styles: ["Ink"],
      listed: { t2i_sdxl: { sampler: ["euler", "dpmpp_2m"], scheduler: ["normal", "karras"] } },
    });
    const { sampler, scheduler } = settings;
    expect(formOfJob(job, emptyForm, offered)).toEqual({
      mode: "one",
      styles: [],
      loras: [],
      references: [],
      prompt: settings.prompt,
      negativePrompt: "blurry, text",
      workflow: "t2i_sdxl",
      aspect: null,
      widthPx: 832,
      heightPx: 1_216,
      count: 1,
      seed: 123_456,
      settings: {
        t2i_sdxl: { steps: 28, guidance: 6.5, sampler, ...(scheduler === null ? {} : { scheduler }) },
      },
    });
    expect(title).toBe("Stable Diffusion XL");
    expect(lacks).toEqual([
      { what: "loras", names: ["fur_detail"] },
      ...(settings.others.length === 0 ? [] : [{ what: "others", names: settings.others }]),
    ]);
    expect([sampler, [null, "karras"].includes(scheduler)]).toEqual(["dpmpp_2m", true]);
  }
});

test("what is missing here, not taken or moved to what is taken is said", () => {
  const { job, title, lacks } = fillingOf(
    found("invokeai_metadata", carriedExamples.invokeai.replace("832", "500")),
    { workflows: offered, chosenName: null, styles: [] },
  );
  expect(title).toBe("Turbo");
  expect(lacks).toEqual([
    { what: "model", name: "stable-diffusion-xl-base-1-0" },
    { what: "negativePrompt" },
    { what: "moved", setting: "steps", from: 28, to: 12 },
    { what: "untaken", setting: "guidance" },
    { what: "moved", setting: "width", from: 500, to: 512 },
    { what: "untaken", setting: "seed" },
    { what: "untaken", setting: "sampler" },
    { what: "loras", names: ["fur_detail"] },
  ]);
  expect(formOfJob(job, emptyForm, offered)).toMatchObject({
    workflow: "turbo",
    prompt: "a red fox in snow",
  });
});

test("a seed that is too large becomes random, and a prompt that is too long is cut", () => {
  const settings = { ...noSettings, source: "comfyui", seed: 2 ** 60, prompt: "x".repeat(5_000) } as const;
  const { job, lacks } = fillingOf(settings, { workflows: [sdxl], chosenName: null, styles: [] });
  expect(lacks).toEqual([{ what: "prompt", characters: 4_000 }, { what: "seed" }]);
  expect(formOfJob(job, emptyForm, [sdxl])).toMatchObject({ seed: null, prompt: "x".repeat(4_000) });
});

test("own settings choose their workflow or model; another one that is chosen stays where they are not offered", () => {
  const own = (workflow: string | null, model: string | null) =>
    found("atelier", JSON.stringify({ workflow, model, params: { prompt: "a hill" } }));
  expect(
    fillingOf(own("t2i_sdxl", null), { workflows: offered, chosenName: "turbo", styles: ["Ink"] }),
  ).toMatchObject({
    job: { workflow: "t2i_sdxl", model: null },
    lacks: [],
  });
  expect(
    fillingOf(own(null, "large"), { workflows: offered, chosenName: "turbo", styles: ["Ink"] }),
  ).toMatchObject({
    job: { workflow: null, model: "large" },
  });
  expect(
    fillingOf(own("gone", null), { workflows: offered, chosenName: "t2i_sdxl", styles: ["Ink"] }),
  ).toMatchObject({
    job: { workflow: "t2i_sdxl" },
    lacks: [{ what: "workflow", name: "gone" }],
  });
  expect(fillingOf(own("gone", null), { workflows: [], chosenName: null, styles: [] })).toMatchObject({
    job: { workflow: null },
    title: null,
  });
});

test("styles come back as styles, and those that this studio lacks are named", () => {
  const template = {
    drawn: { prompt: "a {fox}", negativePrompt: null },
    styles: [{ name: "Ink" }, { name: "Gone" }, { of: "nobody" }],
  };
  const params = { prompt: "ink drawing of a {fox}", negativePrompt: "colour" };
  const settings = found("atelier", JSON.stringify({ workflow: "t2i_sdxl", params, template }));
  const { job, lacks } = fillingOf(settings, { workflows: offered, chosenName: null, styles: ["Ink"] });
  expect(lacks).toEqual([{ what: "styles", names: ["Gone"] }]);
  expect(formOfJob(job, emptyForm, offered)).toMatchObject({
    prompt: String.raw`a \{fox\}`,
    negativePrompt: "",
    styles: ["Ink"],
  });
});

test("LoRAs come back with their weights where a server has them under any folder", () => {
  const taking = { ...sdxl, params: { ...sdxl.params, loras: { type: "loras" as const } } };
  const settings = found("parameters", carriedExamples.a1111);
  const served = {
    chosenName: null,
    styles: [],
    listed: { t2i_sdxl: { loras: ["style/Fur_Detail.safetensors"] } },
  };
  const { job, lacks } = fillingOf(settings, { ...served, workflows: [taking] });
  expect(lacks.map(({ what }) => what)).not.toContain("loras");
  expect(formOfJob(job, emptyForm, [taking]).loras).toEqual([
    { name: "style/Fur_Detail.safetensors", weight: settings.loras[0]?.weight ?? 1 },
  ]);
  const without = fillingOf(settings, { ...served, workflows: [sdxl] });
  expect(without.lacks.map(({ what }) => what)).toContain("loras");
});

test("a model that no workflow has is the checkpoint of the workflow that takes any, where a server lists it", () => {
  const settings = found(
    "parameters",
    carriedExamples.a1111.replace("Model: sd_xl_base_1.0", "Model: Painted World-v2"),
  );
  const here = { workflows: [turbo, sdxl, anyCheckpoint], chosenName: "turbo", styles: [] };
  const listed = {
    any: { checkpoint: ["other.ckpt", "XL/painted_world_v2.safetensors"], sampler: ["dpmpp_2m"] },
  };
  const { job, title, lacks } = fillingOf(settings, { ...here, listed });
  expect(title).toBe("Any checkpoint");
  expect(formOfJob(job, emptyForm, here.workflows).settings?.["any"]).toMatchObject({
    checkpoint: "XL/painted_world_v2.safetensors",
    sampler: "dpmpp_2m",
  });
  expect(lacks.filter(({ what }) => what !== "loras" && what !== "others")).toEqual([
    { what: "unlisted", setting: "scheduler", name: "karras" },
  ]);
  expect(fillingOf(settings, here)).toMatchObject({
    job: { workflow: "turbo" },
    lacks: expect.arrayContaining([{ what: "model", name: "Painted World-v2" }]),
  });
});

test("a picture of this studio whose checkpoint is gone says so, and keeps its workflow", () => {
  const params = { prompt: "a hill", checkpoint: "XL/gone.ckpt", sampler: "euler" };
  const settings = found("atelier", JSON.stringify({ workflow: "any", params }));
  const listed = { any: { checkpoint: ["other.ckpt"], sampler: ["euler"] } };
  const here = { workflows: [turbo, anyCheckpoint], chosenName: null, styles: [], listed };
  const { job, lacks } = fillingOf(settings, here);
  expect(job).toMatchObject({ workflow: "any", params: { sampler: "euler" } });
  expect(job.params).not.toHaveProperty("checkpoint", "XL/gone.ckpt");
  expect(lacks).toEqual([{ what: "unlisted", setting: "checkpoint", name: "XL/gone.ckpt" }]);
});
