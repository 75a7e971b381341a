import { expect, test } from "vitest";
import { newId } from "../platform/index.ts";
import type { InputFacts } from "./pictures.ts";
import { parseSubmit } from "./request.ts";
import { sizeAfter, withoutShape } from "./shape.ts";

const id = newId();
const pictureOf = (widthPx: number, heightPx: number, more: Partial<InputFacts> = {}) =>
  new Map([["image", { id, role: "upload", storedSha256: "", widthPx, heightPx, ...more }]] as const);
const ask = (kind: "crop" | "expand" | "upscale", params: object) =>
  parseSubmit({ kind, inputs: { image: id }, params });

test.each([
  ["4:5", 1_000, 700, { left: 220, top: 0, width: 560, height: 700 }],
  ["1:1", 400, 900, { left: 0, top: 250, width: 400, height: 400 }],
  ["16:9", 1_600, 900, { left: 0, top: 0, width: 1_600, height: 900 }],
  ["100:1", 90, 30, { left: 0, top: 14, width: 90, height: 1 }],
])("the part of the shape %s in the middle of %d × %d pixels is cut out", (shape, width, height, rect) => {
  const { params } = withoutShape(ask("crop", { shape }), pictureOf(width, height));
  expect(params).toEqual({ turns: 0, mirror: false, angle: 0, rect });
});

test("a turned picture is cut to the shape as it is seen", () => {
  const { params } = withoutShape(ask("crop", { shape: "4:5", turns: 1 }), pictureOf(700, 1_000));
  expect(params).toMatchObject({ rect: { left: 220, top: 0, width: 560, height: 700 } });
});

test.each([
  ["1:1", 600, 401, { left: 0, right: 0, top: 99, bottom: 100 }],
  ["16:9", 600, 400, { left: 55, right: 56, top: 0, bottom: 0 }],
  ["4:5", 400, 300, { left: 0, right: 0, top: 100, bottom: 100 }],
])("a picture grows to the shape %s from %d × %d pixels", (shape, width, height, margins) => {
  const request = ask("expand", { shape, prompt: "sky", left: 9 });
  const inputs = pictureOf(width, height);
  expect(withoutShape(request, inputs).params).toEqual({ prompt: "sky", ...margins });
  expect(sizeAfter(request, inputs)).toEqual({
    widthPx: width + margins.left + margins.right,
    heightPx: height + margins.top + margins.bottom,
  });
});

test("a picture that has the shape, or would grow too far, is refused", () => {
  const grow = (shape: string, inputs: ReturnType<typeof pictureOf>) => () =>
    withoutShape(ask("expand", { shape }), inputs);
  const refused = expect.objectContaining({ code: "bad_request" });
  expect(grow("3:2", pictureOf(600, 400))).toThrow(refused);
  expect(grow("100:1", pictureOf(600, 400))).toThrow(refused);
  expect(grow("4:5", pictureOf(9_900, 9_000))).toThrow(expect.objectContaining({ code: "output_too_large" }));
  // The result of a job before may have another size in the end.
  expect(grow("3:2", pictureOf(600, 400, { isToCome: true }))().params).toMatchObject({ left: 0, top: 0 });
});

test("without a shape nothing changes, and one that is none is refused", () => {
  const request = ask("crop", { rect: { left: 1, top: 2, width: 3, height: 4 } });
  expect(withoutShape(request, pictureOf(9, 9))).toBe(request);
  for (const shape of ["", "4", "4:0", "0:4", "4x5", "1000:1", ":"])
    expect(() => ask("crop", { shape })).toThrow(expect.objectContaining({ code: "bad_request" }));
  expect(() => ask("expand", { prompt: "sky" })).toThrow(expect.objectContaining({ code: "bad_request" }));
});

test("the size of a result is told of what cuts, grows and scales", () => {
  const inputs = pictureOf(1_000, 700);
  expect(sizeAfter(ask("crop", { shape: "1:1" }), inputs)).toEqual({ widthPx: 700, heightPx: 700 });
  expect(sizeAfter(ask("expand", { left: 10 }), inputs)).toEqual({ widthPx: 1_010, heightPx: 700 });
  expect(sizeAfter(ask("upscale", { scale: 4 }), inputs)).toEqual({ widthPx: 4_000, heightPx: 2_800 });
  expect(sizeAfter(ask("crop", {}), new Map())).toBeNull();
});
