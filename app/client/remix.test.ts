import { expect, test } from "vitest";
import { remixHref } from "./remix.ts";

const inputs = [{ role: "image", imageId: "source" }] as const;

test("E8 a picture is made anew where there is something to fill in", () => {
  expect(remixHref("made", { kind: "text_to_image", inputs: [], params: {} })).toBe("/create?remix=made");
  const again = "/edit/source?remix=made";
  expect(remixHref("made", { kind: "upscale", inputs, params: { scale: 4 } })).toBe(again);
  expect(remixHref("made", { kind: "inpaint", inputs, params: { prompt: "a vase" } })).toBe(again);
  expect(remixHref("made", { kind: "inpaint", inputs, params: {} })).toBeNull();
  const ground = { kind: "remove_background", inputs } as const;
  expect(remixHref("made", { ...ground, params: { colour: "#ffffff" } })).toBe(again);
  expect(remixHref("made", { ...ground, params: {} })).toBeNull();
  expect(remixHref("made", { kind: "restore_faces", inputs, params: {} })).toBeNull();
  expect(remixHref("made", { kind: "edit", inputs: [], params: {} })).toBeNull();
});
