import { expect, test } from "vitest";
import { newEdit } from "../document/state.ts";
import { keptModes, modesOf, newModes, withJob, withModes } from "./mode-settings.ts";
import { noRun } from "./run.ts";

const job = { params: {}, inputs: [], workflow: null, model: null };

test("the mode of a job is chosen again with what it was set to", () => {
  expect(modesOf({ ...job, kind: "inpaint" })).toEqual(newModes);
  expect(modesOf({ ...job, kind: "inpaint", params: { prompt: "moss" } })).toMatchObject({
    mode: "replace",
    settings: { replace: { prompt: "moss" }, change: { prompt: "" } },
  });
  const inputs = [
    { role: "image", imageId: "one" },
    { role: "reference2", imageId: "three" },
    { role: "reference", imageId: "two" },
  ] as const;
  expect(modesOf({ ...job, kind: "edit", params: { prompt: "night" }, inputs: [...inputs] })).toMatchObject({
    mode: "change",
    settings: { change: { prompt: "night", referenceIds: ["two", "three"] } },
  });
  expect(modesOf({ ...job, kind: "upscale", params: { scale: 4 } })).toMatchObject({
    mode: "enhance",
    settings: { enhance: { what: "upscale", scale: 4 } },
  });
  expect(
    modesOf({ ...job, kind: "expand", params: { left: 64, top: 0, prompt: "sky" } }).settings.expand,
  ).toEqual({ ...noRun, left: 64, top: 0, right: 0, bottom: 0, ratio: "free", isTall: false, prompt: "sky" });
  expect(modesOf({ ...job, kind: "restore_faces" }).settings.enhance.what).toBe("faces");
  expect(modesOf({ ...job, kind: "remove_background" })).toEqual({ ...newModes, mode: "background" });
  const onColour = modesOf({ ...job, kind: "remove_background", params: { colour: "#AA00ff" } });
  expect(onColour.settings.background).toMatchObject({ what: "colour", colour: "#aa00ff" });
  const onPicture = modesOf({
    ...job,
    kind: "remove_background",
    params: { position: { x: 0.2, y: 0.2 } },
    inputs: [{ role: "background", imageId: "wall" }],
  });
  expect(onPicture.settings.background).toMatchObject({ what: "picture", pictureId: "wall", position: 0.2 });
  expect(modesOf({ ...job, kind: "text_to_image", params: { prompt: "a hill" } })).toEqual(newModes);
});

test("what a job ran with is set again: its workflow or model, and the settings that it got", () => {
  const params = { prompt: "moss", negativePrompt: "text", strength: 0.7, steps: 8, seed: 4, width: 64 };
  const run = { negativePrompt: "text", seed: 4 };
  const numbers = { strength: 0.7, steps: 8 };
  expect(modesOf({ ...job, kind: "inpaint", params, workflow: "fill" }).settings.replace).toEqual({
    ...run,
    prompt: "moss",
    models: { inpaint: "fill" },
    numbers: { fill: numbers },
  });
  expect(modesOf({ ...job, kind: "edit", params, model: "fine" }).settings.change).toMatchObject({
    ...run,
    models: { edit: "cloud/fine" },
    numbers: { "cloud/fine": numbers },
  });
  const here = modesOf({ ...job, kind: "inpaint", params: { seed: 4 } });
  expect(here.settings.remove).toEqual({ ...noRun, seed: 4 });
});

test("the settings of a version are put into its mode, and those of the others stay", () => {
  const { settings } = newModes;
  const now = {
    mode: "adjust",
    settings: { ...settings, change: { ...settings.change, prompt: "night" } },
  } as const;
  const used = withJob(now, {
    ...job,
    kind: "inpaint",
    params: { prompt: "moss", seed: 3 },
    workflow: "fill",
  });
  expect(used).toEqual({
    mode: "replace",
    settings: {
      ...now.settings,
      replace: { ...noRun, prompt: "moss", models: { inpaint: "fill" }, seed: 3, numbers: { fill: {} } },
    },
  });
  expect(withJob(now, { ...job, kind: "text_to_image", params: { prompt: "a hill" } })).toBeNull();
  expect(withJob(now, { ...job, kind: "crop", params: { angle: 2 } })).toBeNull();
});

test("an edit is opened in the mode and with the settings it was left with, also by a version that knew less or more", () => {
  expect(keptModes({ mode: null, settings: {} })).toEqual(newModes);
  const settings = { replace: { prompt: "moss" }, enhance: { scale: 4 }, candidates: 3, ofLater: { a: 1 } };
  expect(keptModes({ mode: "replace", settings })).toMatchObject({
    mode: "replace",
    settings: { replace: { prompt: "moss" }, enhance: { what: "upscale", scale: 4 }, change: { prompt: "" } },
  });
  expect(keptModes({ mode: "of a later version", settings }).mode).toBe(newModes.mode);
});

test("of stored settings only what fits is taken, member by member", () => {
  const settings = {
    remove: { models: "all", numbers: { a: { steps: "4" } }, seed: -1, negativePrompt: "blur" },
    replace: { prompt: 7, models: { inpaint: "fill" }, numbers: { fill: { steps: 4 } }, seed: 1.5 },
    change: { prompt: "night", referenceIds: ["../other"] },
    expand: { left: -4, top: 12.5, right: 16, bottom: null, ratio: "7:1", isTall: true, prompt: "sky" },
    enhance: "faces",
    adjust: { light: 900, contrast: 20, saturation: "much" },
    crop: { turns: 9, angle: 12, frame: { x: 1, y: 2, width: -3, height: 4 }, mirror: true },
    restore: { from: "elsewhere" },
    background: { what: "picture", colour: "red", position: 2, pictureId: 5, prompt: "a wall" },
  };
  const { settings: read } = keptModes({ mode: "expand", settings });
  const begun = newModes.settings;
  expect(read).toEqual({
    ...begun,
    remove: { ...noRun, negativePrompt: "blur" },
    replace: { ...noRun, prompt: "", models: { inpaint: "fill" }, numbers: { fill: { steps: 4 } } },
    change: { ...noRun, prompt: "night", referenceIds: [] },
    expand: { ...begun.expand, right: 16, isTall: true, prompt: "sky" },
    adjust: { ...begun.adjust, contrast: 20 },
    crop: { ...begun.crop, angle: 12, mirror: true },
    background: { ...begun.background, what: "picture", prompt: "a wall" },
  });
});

test("what every mode was set to is read as it was stored, and members of a later version stay in the edit", () => {
  const frame = { x: 3, y: -4, width: 100, height: 50.5 };
  const { settings } = newModes;
  const set = {
    ...settings,
    crop: { ...settings.crop, frame, kept: { left: 0, top: 1, width: 2, height: 3 } },
    change: {
      models: { edit: "cloud/fine" },
      negativePrompt: "text",
      seed: 7,
      numbers: { "cloud/fine": { strength: 0.5, guidance: 3 } },
      prompt: "x",
      referenceIds: ["6f0c6c0e-7c53-4c53-8a5b-2f8f0d6a3f11"],
    },
    expand: { ...settings.expand, left: 4_096, ratio: "16:9", isTall: true },
  } as const;
  const edit = withModes(
    { ...newEdit("one"), settings: { restore: { softness: 3 }, ofLater: { a: 1 } } },
    { mode: "crop", settings: set },
  );
  const stored: typeof edit.settings = JSON.parse(JSON.stringify(edit.settings));
  expect(keptModes({ ...edit, settings: stored })).toEqual({ mode: "crop", settings: set });
  expect(stored).toMatchObject({ restore: { from: "first", softness: 3 }, ofLater: { a: 1 } });
});
