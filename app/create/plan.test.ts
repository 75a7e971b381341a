import { offeredWorkflow } from "@atelier/testing/workflows";
import { expect, test } from "vitest";
import { numbersIn, promptsIn, wordsIn } from "./axis-values.ts";
import { createForm, type CreateForm, emptyForm, maxJobs, readForm } from "./form.ts";
import { planOf } from "./plan.ts";
import { readPrompts } from "./prompt-field.ts";
import { lacksPictures } from "./references.ts";
import { escapeTemplate, formOfJob, isTemplate, lacksChoice } from "./requests.ts";

const side = { type: "integer", min: 256, max: 1_536, multipleOf: 16, default: 1_024 } as const;
const params = {
  prompt: { type: "text", required: true },
  negativePrompt: { type: "text" },
  width: side,
  height: side,
  steps: { type: "integer", min: 1, max: 50, default: 20 },
  guidance: { type: "number", min: 1, max: 10, default: 3.5 },
  seed: { type: "seed" },
  loras: { type: "loras" },
  checkpoint: { type: "listed", required: true },
  sampler: { type: "listed", default: "euler" },
} as const;
const large = offeredWorkflow({ name: "large", kind: "text_to_image", inputs: [], params });
const { guidance: _none, loras: _neither, checkpoint: _nor, ...plain } = params;
const quick = offeredWorkflow({ name: "quick", kind: "text_to_image", inputs: [], params: plain });

const form = (changes: Partial<CreateForm>): CreateForm => ({
  ...emptyForm,
  prompt: "a red fox",
  settings: { large: { checkpoint: "own.ckpt" }, pictures: { checkpoint: "own.ckpt" } },
  ...changes,
});
const plan = (changes: Partial<CreateForm>) => planOf(form(changes), large, [large, quick]);
const x = (param: CreateForm["xAxis"]["param"], text: string) =>
  ({ mode: "grid", xAxis: { param, text } }) as const;

test("a list has a request for each of its prompts, as often as there shall be pictures", () => {
  const { requests } = plan({ mode: "list", prompt: "a fox\n\n  a {red|blue} hen \r\n", count: 2, seed: 5 });
  expect(requests.map(({ params: { prompt, seed } }) => [prompt, seed])).toEqual([
    ["a fox", 5],
    ["a fox", 6],
    ["a {red|blue} hen", 5],
    ["a {red|blue} hen", 6],
  ]);
  expect(requests.map(({ template }) => template !== undefined)).toEqual([false, false, true, true]);
  expect(promptsIn("\n \n")).toEqual([]);
});

test("more than a batch has is refused before anything is built", () => {
  const prompt = Array.from({ length: maxJobs + 1 }, (_, at) => `fox ${at}`).join("\n");
  expect(plan({ mode: "list", prompt })).toEqual({
    requests: [],
    axes: null,
    problem: { what: "tooMany", count: 201 },
  });
  expect(plan({ ...x("seed", "1-9999999"), yAxis: { param: "steps", text: "1-50" } }).problem).toMatchObject({
    what: "tooMany",
  });
});

test("a grid has rows and columns, the columns varying fastest, and one seed for its words", () => {
  const { requests, axes } = plan({
    ...x("part", 'red, "blue, dark", green'),
    yAxis: { param: "steps", text: "4, 8" },
    prompt: "a red {fox|hen}",
    negativePrompt: "red eyes",
    seed: 9,
    count: 4,
  });
  expect(axes).toEqual([
    { param: "steps", values: [4, 8] },
    { param: "prompt", values: ["red", "blue, dark", "green"] },
  ]);
  expect(requests.map(({ params: own }) => [own.steps, own.prompt, own.negativePrompt])).toEqual(
    [4, 8].flatMap((steps) =>
      ["red", "blue, dark", "green"].map((word) => [steps, `a ${word} {fox|hen}`, `${word} eyes`]),
    ),
  );
  for (const { params: own, template } of requests) expect([own.seed, template?.seed]).toEqual([9, 9]);
});

test("an axis varies seed, size, workflow or style, and a number is for the workflow of its cell", () => {
  const seeds = plan({ ...x("seed", "7-9"), prompt: "{a|b}", seed: 1 }).requests;
  expect(seeds.map(({ params: own, template }) => [own.seed, template?.seed])).toEqual([
    [7, 1],
    [8, 1],
    [9, 1],
  ]);
  const sizes = plan(x("size", "1:1, 640x512")).requests;
  expect(sizes.map(({ params: own }) => [own.width, own.height])).toEqual([
    [1_024, 1_024],
    [640, 512],
  ]);
  const both = plan({ ...x("workflow", "large, quick"), yAxis: { param: "steps", text: "30" } }).requests;
  expect(both.map(({ workflow, params: own }) => [workflow, own.steps, own.guidance])).toEqual([
    ["large", 30, 3.5],
    ["quick", 30, undefined],
  ]);
  const styles = plan({ ...x("style", "Ink, Film"), styles: ["Night"] }).requests;
  expect(styles.map(({ template }) => template?.styles)).toEqual([
    ["Night", "Ink"],
    ["Night", "Film"],
  ]);
});

test.each([
  [x("part", "purple, red"), { what: "notInPrompt", value: "purple" }],
  [x("steps", "4, many"), { what: "unreadable", value: "many" }],
  [x("steps", "90"), { what: "outOfRange", value: 90 }],
  [x("seed", "1.5"), { what: "outOfRange", value: 1.5 }],
  [x("size", "7:1"), { what: "unreadable", value: "7:1" }],
  [x("workflow", "gone"), { what: "unreadable", value: "gone" }],
  [x("steps", "-4"), { what: "outOfRange", value: -4 }],
  [x("size", "640x4000"), { what: "outOfRange", value: 4_000 }],
  [
    { ...x("lora", "-9"), loras: [{ name: "fur", weight: 1 }] },
    { what: "outOfRange", value: -9 },
  ],
])("the fault of %j is named", (changes, problem) => {
  expect(plan(changes)).toMatchObject({ requests: [], problem });
});

test("checkpoints and samplers are axes of a grid, in place of those that are chosen", () => {
  const settings = { large: { checkpoint: "chosen.ckpt", sampler: "heun", scheduler: "of another" } };
  const { requests, axes } = plan({
    ...x("checkpoint", 'a.safetensors, "b, c.ckpt"'),
    yAxis: { param: "sampler", text: "euler, dpmpp_2m" },
    settings,
  });
  expect(axes).toEqual([
    { param: "sampler", values: ["euler", "dpmpp_2m"] },
    { param: "checkpoint", values: ["a.safetensors", "b, c.ckpt"] },
  ]);
  expect(requests.map(({ params: own }) => [own.sampler, own.checkpoint])).toEqual([
    ["euler", "a.safetensors"],
    ["euler", "b, c.ckpt"],
    ["dpmpp_2m", "a.safetensors"],
    ["dpmpp_2m", "b, c.ckpt"],
  ]);
  expect(planOf(form(x("checkpoint", "a.ckpt")), quick, [large, quick]).problem).toEqual({
    what: "untaken",
    value: "checkpoint",
  });
});

test("a checkpoint, a sampler and a scheduler go with each request where the workflow has a place, and come back from its job", () => {
  const chosen = { checkpoint: "XL/Painted.ckpt", sampler: "dpmpp_2m", scheduler: "karras" };
  const settings = { large: chosen, quick: chosen };
  const [request] = plan({ settings }).requests;
  expect(request?.params).toMatchObject({ checkpoint: "XL/Painted.ckpt", sampler: "dpmpp_2m" });
  expect(request?.params).not.toHaveProperty("scheduler");
  expect(planOf(form({ settings }), quick, [quick]).requests[0]?.params).not.toHaveProperty("checkpoint");
  const job = { workflow: "large", model: null, params: { prompt: "a fox", ...chosen } };
  expect(formOfJob(job, emptyForm, [large]).settings?.["large"]).toMatchObject(chosen);
  expect(readForm(JSON.stringify({ settings: { large: { ...chosen, sampler: 3 } } })).settings).toEqual({
    large: { checkpoint: "XL/Painted.ckpt", scheduler: "karras" },
  });
});

test("a workflow whose checkpoint nobody has chosen yet is not ready", () => {
  expect(lacksChoice(emptyForm, large)).toBe(true);
  expect(lacksChoice({ ...emptyForm, settings: { large: { checkpoint: "a.ckpt" } } }, large)).toBe(false);
  expect(lacksChoice(emptyForm, quick)).toBe(false);
});

test("a grid with cells whose checkpoint nobody has chosen is refused before the click", () => {
  const problemOf = (changes: Partial<CreateForm>) => plan({ settings: {}, ...changes }).problem;
  const unchosen = { what: "unchosen", value: large.title };
  expect(problemOf(x("seed", "1, 2"))).toEqual(unchosen);
  expect(problemOf(x("workflow", "quick, large"))).toEqual(unchosen);
  expect(problemOf(x("workflow", "quick"))).toBeNull();
  expect(problemOf({ ...x("workflow", "large"), yAxis: { param: "checkpoint", text: "a, b" } })).toBeNull();
  expect(problemOf({ ...x("seed", "1"), settings: { quick: { checkpoint: "a" } } })).toEqual(unchosen);
  expect(plan({ ...x("seed", "1"), settings: {} }).requests).toEqual([]);
});

test("an axis that the workflow of a cell does not take, or not so far, is no row of equal pictures", () => {
  const loras = [{ name: "fur", weight: 1 }];
  const words = { type: "text", required: true } as const;
  const seedless = { prompt: words, steps: { ...params.steps, max: 10 } };
  const few = offeredWorkflow({ name: "few", kind: "text_to_image", inputs: [], params: seedless });
  const withFew = (changes: Partial<CreateForm>) => planOf(form(changes), few, [few, large]);
  expect(withFew({ ...x("lora", "0, 1"), loras }).problem).toEqual({ what: "untaken", value: "lora" });
  expect(withFew(x("size", "1:1, 3:2")).problem).toEqual({ what: "untaken", value: "size" });
  expect(withFew(x("seed", "1-3")).problem).toEqual({ what: "untaken", value: "seed" });
  expect(withFew({ ...x("part", "dark, light"), negativePrompt: "dark" })).toMatchObject({
    requests: [],
    problem: { what: "notInPrompt", value: "dark" },
  });
  const crossed = (yAxis: CreateForm["yAxis"], names = "large, few") =>
    withFew({ ...x("workflow", names), yAxis });
  expect(crossed({ param: "steps", text: "8, 30" })).toMatchObject({
    requests: [],
    problem: { what: "outOfRange", value: 30 },
  });
  expect(crossed({ param: "guidance", text: "3, 5" }).problem).toEqual({
    what: "untaken",
    value: "guidance",
  });
  // The chosen workflow makes none of these.
  expect(crossed({ param: "guidance", text: "3, 5" }, "large").requests).toHaveLength(2);
});

test("numbers and words are read as people write them", () => {
  expect(numbersIn("1, 2.5, 4-6, 9-7, 10-20 (+5), 0-1 [3]")).toEqual([
    1, 2.5, 4, 5, 6, 9, 8, 7, 10, 15, 20, 0, 0.5, 1,
  ]);
  expect(numbersIn("-0.5, -2-1, 1--1, -2--1 (+0.5), 4-6 (+-1)")).toEqual([
    -0.5,
    -2,
    -1,
    0,
    1,
    1,
    0,
    -1,
    -2,
    -1.5,
    -1,
    "4-6 (+-1)",
  ]);
  expect(wordsIn('red, "a, \\"b\\"", , blue')).toEqual(["red", 'a, "b"', "", "blue"]);
  expect([wordsIn(""), wordsIn("red,")]).toEqual([[], ["red"]]);
});

test("prompts are read from text and from tables, by a column of that name", async () => {
  const read = (name: string, text: string) => readPrompts(new File([text], name));
  expect(await read("a.txt", "\uFEFFa fox\r\n\r\na hen\n")).toEqual(["a fox", "a hen"]);
  expect(await read("a.csv", 'name,prompt\n1,"a fox, ""red"""\n2,"two\nlines"\n')).toEqual([
    'a fox, "red"',
    "two lines",
  ]);
  expect(await read("a.csv", "a fox;1\na hen;2")).toEqual(["a fox", "a hen"]);
  expect(await read("a.csv", "")).toEqual([]);
});

test("a picture whose prompt was drawn is made again as it is, with its styles as styles", () => {
  const template = {
    prompt: "a {red|blue} fox",
    negativePrompt: null,
    drawn: { prompt: "a red fox {sic}", negativePrompt: null },
    seed: 3,
    styles: [{ name: "Ink", prompt: "ink", negativePrompt: "colour" }],
  };
  const job = { params: { prompt: "a red fox {sic}, ink", negativePrompt: "colour" }, template };
  const filled = formOfJob({ ...job, workflow: "large", model: null }, emptyForm, [large]);
  expect(filled).toMatchObject({
    mode: "one",
    prompt: String.raw`a red fox \{sic\}`,
    negativePrompt: "",
    styles: ["Ink"],
  });
  expect([isTemplate("a_b (x:1)"), escapeTemplate("___ __a__")]).toEqual([false, String.raw`\_\__ \__a\__`]);
});

test("a grid and its styles are kept with the form", () => {
  const kept = form({ ...x("seed", "1-3"), styles: ["Ink"] });
  expect(readForm(JSON.stringify(kept))).toEqual(kept);
  const odd = { mode: "many", styles: [1, "Ink"], xAxis: { param: "vae", text: "x" }, yAxis: 7 };
  expect(readForm(JSON.stringify(odd))).toEqual({ ...emptyForm, styles: ["Ink"] });
});

test("LoRAs go to workflows that take them, and a grid varies the weight of the first", () => {
  const loras = [
    { name: "fur", weight: 1 },
    { name: "ink", weight: 0.5 },
  ];
  const { requests, axes } = plan({ ...x("lora", "0-1 [3]"), loras });
  expect(axes).toEqual([{ param: "lora", values: [0, 0.5, 1] }]);
  expect(requests.map(({ params: own }) => own.loras)).toEqual(
    [0, 0.5, 1].map((weight) => [{ name: "fur", weight }, loras[1]]),
  );
  expect(plan(x("lora", "1")).problem).toEqual({ what: "untaken", value: "lora" });
  const [bare] = planOf(form({ loras }), quick, [quick]).requests;
  expect(bare?.params).not.toHaveProperty("loras");
  const filled = formOfJob({ params: { prompt: "x", loras }, workflow: "large", model: null }, emptyForm, [
    large,
  ]);
  expect(filled.loras).toEqual(loras);
  const odd = { loras: [{ name: "fur", weight: 9 }, { name: 1 }, { name: "ink" }] };
  expect(readForm(JSON.stringify(odd)).loras).toEqual([{ name: "ink", weight: 1 }]);
});

const picture = (imageId: string, role: CreateForm["references"][number]["role"] = "reference") => ({
  imageId,
  role,
});
const takesPictures = offeredWorkflow({
  name: "pictures",
  title: "Pictures",
  kind: "text_to_image",
  inputs: [
    { role: "reference", required: false },
    { role: "reference2", required: false },
    { role: "style", required: false },
  ],
  params: { ...params, styleStrength: { type: "number", min: 0, max: 1, default: 0.5 } },
});
const needsOne = offeredWorkflow({
  name: "outlines",
  title: "Outlines",
  kind: "text_to_image",
  inputs: [{ role: "structure", required: true }],
  params,
});

test("pictures go to the inputs of their roles in their order, with the strength of their role", () => {
  const references = [picture("b"), picture("s", "style"), picture("a")];
  const settings = { pictures: { styleStrength: 0.8 } };
  const { requests } = planOf(form({ references, settings }), takesPictures, [takesPictures]);
  expect(requests[0]?.inputs).toEqual({ reference: "b", reference2: "a", style: "s" });
  expect(requests[0]?.params).toMatchObject({ styleStrength: 0.8 });
  const [plain] = planOf(form({ settings }), takesPictures, []).requests;
  expect(plain?.inputs).toEqual({});
  expect(plain?.params).not.toHaveProperty("styleStrength");
});

test("what a workflow does not take of the pictures is said, and nothing is made", () => {
  const problemOf = (references: CreateForm["references"], workflow: typeof large) => {
    const { requests, problem } = planOf(form({ references }), workflow, [workflow]);
    expect(problem === null).toBe(requests.length > 0);
    return problem;
  };
  const title = large.title;
  expect(problemOf([picture("a")], large)).toEqual({ what: "noPictures", workflow: title });
  expect(problemOf([picture("a", "face")], takesPictures)).toEqual({
    what: "noRole",
    workflow: "Pictures",
    role: "face",
  });
  expect(problemOf([picture("a"), picture("b"), picture("c")], takesPictures)).toEqual({
    what: "tooManyPictures",
    workflow: "Pictures",
    role: "reference",
    most: 2,
  });
  expect(problemOf([], needsOne)).toEqual({ what: "pictureNeeded", workflow: "Outlines", role: "structure" });
  expect(problemOf([picture("a", "structure")], needsOne)).toBeNull();
  expect(lacksPictures([picture("a")], needsOne)).toBe(true);
  expect(lacksPictures([picture("a", "structure")], needsOne)).toBe(false);
  expect(lacksPictures([], takesPictures)).toBe(false);
  const grid = form({ ...x("workflow", "pictures, large"), references: [picture("a")] });
  expect(planOf(grid, takesPictures, [takesPictures, large]).problem).toEqual({
    what: "noPictures",
    workflow: title,
  });
  const list = form({ mode: "list", prompt: "a fox\na hen", references: [picture("a")] });
  expect(planOf(list, large, [large]).problem).toEqual({ what: "noPictures", workflow: title });
  expect(planOf(list, takesPictures, []).requests.map(({ inputs }) => inputs)).toEqual([
    { reference: "a" },
    { reference: "a" },
  ]);
});

test("pictures are kept with the form and come back from a job", () => {
  const kept = form({
    references: [picture("a"), picture("s", "style")],
    settings: { pictures: { styleStrength: 0.3 } },
  });
  expect(readForm(JSON.stringify(kept))).toEqual(kept);
  const odd = { references: [picture("a"), picture("a"), { imageId: "b", role: "mask" }, 7] };
  expect(readForm(JSON.stringify(odd)).references).toEqual([picture("a")]);
  const inputs = [
    { role: "style", imageId: "s" },
    { role: "reference2", imageId: "b" },
    { role: "reference", imageId: "a" },
  ] as const;
  const job = { params: { prompt: "x", styleStrength: 0.7 }, workflow: "pictures", model: null };
  const filled = formOfJob({ ...job, inputs }, emptyForm, [takesPictures]);
  expect(filled.references).toEqual([picture("a"), picture("b"), picture("s", "style")]);
  expect(filled.settings).toEqual({ pictures: { styleStrength: 0.7 } });
});

test("a grid has one picture of a role after another, by their numbers, and keeps those of other roles", () => {
  const references = [picture("a"), picture("s", "style"), picture("b")];
  const grid = (text: string) =>
    planOf(form({ ...x("picture", text), references }), takesPictures, [takesPictures]);
  const { requests, axes } = grid("1, 3");
  expect(axes).toEqual([{ param: "inputs.reference", values: ["a", "b"] }]);
  expect(requests.map(({ inputs }) => inputs)).toEqual([
    { reference: "a", style: "s" },
    { reference: "b", style: "s" },
  ]);
  expect([grid("1, 2").problem, grid("4").problem]).toEqual([
    { what: "unreadable", value: "2" },
    { what: "unreadable", value: "4" },
  ]);
});

test("an axis of styles beside eight that are on is refused before the click", () => {
  const styles = Array.from({ length: 8 }, (_, at) => `Style ${at}`);
  expect(plan({ ...x("style", "Ink"), styles }).problem).toEqual({ what: "tooManyStyles", count: 9 });
  expect(plan({ ...x("style", "Style 3"), styles }).problem).toBeNull();
});

test("the seed that was drawn for a grid is kept with the form, and forgotten when the form changes", () => {
  expect(readForm(JSON.stringify({ gridSeed: 7 })).gridSeed).toBe(7);
  createForm.set({ gridSeed: 7 });
  expect(createForm.get().gridSeed).toBe(7);
  createForm.set({ prompt: "another" });
  expect(createForm.get().gridSeed).toBeNull();
});
