import { expect, test } from "vitest";
import { mostSteps, readRecipe, type Recipe, severalRequest, stepOf } from "./recipe.ts";

const [a, b] = ["0198c0de-0000-7000-8000-000000000001", "0198c0de-0000-7000-8000-000000000002"] as const;
const offers = { changeWith: () => undefined, byFour: { isPossible: false, workflow: undefined } };
const order = { imageIds: [a, b], title: "two", offers, isQuote: false };

const white = stepOf("background", { what: "colour", colour: "#ffffff" });
const brighter = stepOf("adjust", { light: 20 });
/** Without the ids, which differ at each start of the page. */
const plain = (recipe: Recipe) => recipe.map(({ mode, settings }) => ({ mode, settings }));

test("the first step names the picture, and those that follow work on its result", () => {
  const recipe = [white, brighter, stepOf("enhance", { what: "upscale", scale: 2 })];
  const steps = [
    { kind: "adjust", inputs: {}, params: brighter.settings },
    { kind: "upscale", inputs: {}, params: { scale: 2 } },
  ];
  expect(severalRequest({ ...order, recipe })).toEqual({
    title: "two",
    jobs: [a, b].map((image) => ({
      kind: "remove_background",
      inputs: { image },
      params: { colour: "#ffffff" },
      steps,
    })),
  });
});

test("a picture of the ground stays an input of a step that follows", () => {
  const recipe = [brighter, stepOf("background", { what: "picture", pictureId: b, position: 0.25 })];
  expect(severalRequest({ ...order, imageIds: [a], recipe })).toMatchObject({
    jobs: [{ steps: [{ inputs: { background: b }, params: { position: { x: 0.25, y: 0.25 } } }] }],
  });
});

test("nothing is ordered without a picture, a prompt, a ground or a change", () => {
  expect(severalRequest({ ...order, imageIds: [], recipe: [white] })).toBeNull();
  const lacking = [
    stepOf("change", { prompt: "  " }),
    stepOf("background", { what: "picture" }),
    stepOf("adjust"),
  ];
  for (const step of lacking) expect(severalRequest({ ...order, recipe: [white, step] })).toBeNull();
});

test("a price is asked without the values of sliders, so that moving one asks nothing", () => {
  const asked = [10, 20].map((light) =>
    severalRequest({ ...order, isQuote: true, recipe: [stepOf("adjust", { light })] }),
  );
  expect(asked[0]).toEqual(asked[1]);
});

test("a stored recipe is read as far as it fits", () => {
  const kept = [white, brighter];
  expect(plain(readRecipe(JSON.stringify(kept)))).toEqual(plain(kept));
  const fresh = plain([stepOf("background")]);
  for (const broken of [null, "", "{", "null", "7", "[]", "{}", '[null, 3, {"mode": "remove"}]'])
    expect(plain(readRecipe(broken))).toEqual(fresh);
  const odd = [{ mode: "adjust", settings: { light: 9_000, contrast: 5 } }];
  expect(plain(readRecipe(JSON.stringify(odd)))).toEqual(plain([stepOf("adjust", { contrast: 5 })]));
  const many = readRecipe(JSON.stringify(Array.from({ length: 9 }, () => white)));
  expect(new Set(many.map(({ id }) => id)).size).toBe(mostSteps);
});

test("what is made or drawn on one picture is none of a recipe: a painted ground, a free frame", () => {
  const painted = { mode: "background", settings: { what: "prompt", prompt: "a beach" } };
  const free = { mode: "crop", settings: { ratio: "free", frame: { x: 0, y: 0, width: 9, height: 9 } } };
  const own = { mode: "expand", settings: { ratio: "original", left: 9, prompt: "sky" } };
  expect(readRecipe(JSON.stringify([painted, free, own]))).toMatchObject([
    { settings: { what: "transparent" } },
    { settings: { ratio: "1:1" } },
    { settings: { ratio: "1:1", prompt: "sky" } },
  ]);
});

test("shapes are ordered as such, since the pictures have many sizes", () => {
  const crop = stepOf("crop", { ratio: "5:4", isTall: true });
  const grow = stepOf("expand", { ratio: "16:9", isTall: false, left: 9, prompt: " sky " });
  expect(severalRequest({ ...order, imageIds: [a], recipe: [crop, grow] })).toMatchObject({
    jobs: [
      {
        kind: "crop",
        inputs: { image: a },
        params: { shape: "4:5" },
        steps: [{ kind: "expand", inputs: {}, params: { shape: "16:9", prompt: "sky" } }],
      },
    ],
  });
  expect(severalRequest({ ...order, imageIds: [a], recipe: [stepOf("expand")] })).toMatchObject({
    jobs: [{ params: { shape: "1:1" } }],
  });
});

test("references go with the prompt, to a workflow that takes so many", () => {
  const workflow = { name: "two", cloud: null };
  const asked: number[] = [];
  const changeWith = (count: number) => {
    asked.push(count);
    return workflow as unknown as ReturnType<typeof offers.changeWith>;
  };
  const recipe = [white, stepOf("change", { prompt: "p", referenceIds: [a, b] })];
  expect(severalRequest({ ...order, recipe, offers: { ...offers, changeWith } })).toMatchObject({
    jobs: [{ steps: [{ kind: "edit", inputs: { reference: a, reference2: b } }] }, {}],
  });
  expect(new Set(asked)).toEqual(new Set([2]));
  expect(plain(readRecipe(JSON.stringify(recipe)))).toEqual(plain(recipe));
});

test("pictures are upscaled by 2 where no engine is left that does it by 4", () => {
  const recipe = [stepOf("enhance", { what: "upscale", scale: 4 })];
  const scaleOf = (isPossible: boolean) =>
    severalRequest({
      ...order,
      imageIds: [a],
      recipe,
      offers: { ...offers, byFour: { isPossible, workflow: undefined } },
    });
  expect(scaleOf(true)).toMatchObject({ jobs: [{ params: { scale: 4 } }] });
  expect(scaleOf(false)).toMatchObject({ jobs: [{ params: { scale: 2 } }] });
});
