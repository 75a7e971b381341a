import { expect, test } from "vitest";
import { keptModes, modesOf, newModes } from "./mode-state.ts";

const job = { params: {}, inputs: [] };

test("the mode of a job is chosen again with what it was set to", () => {
  expect(modesOf({ ...job, kind: "inpaint" })).toEqual(newModes);
  expect(modesOf({ ...job, kind: "inpaint", params: { prompt: "moss" } })).toMatchObject({
    mode: "replace",
    settings: { replace: { prompt: "moss" }, change: { prompt: "" } },
  });
  const inputs = [
    { role: "image", imageId: "one" },
    { role: "reference", imageId: "two" },
  ] as const;
  expect(modesOf({ kind: "edit", params: { prompt: "night" }, inputs: [...inputs] })).toMatchObject({
    mode: "change",
    settings: { change: { prompt: "night", referenceId: "two" } },
  });
  expect(modesOf({ ...job, kind: "upscale", params: { scale: 4 } })).toMatchObject({
    mode: "enhance",
    settings: { enhance: { what: "upscale", scale: 4 } },
  });
  expect(modesOf({ ...job, kind: "restore_faces" }).settings.enhance.what).toBe("faces");
  expect(modesOf({ ...job, kind: "remove_background" }).mode).toBe("background");
  expect(modesOf({ ...job, kind: "text_to_image", params: { prompt: "a hill" } })).toEqual(newModes);
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
