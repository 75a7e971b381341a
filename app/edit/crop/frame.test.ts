import { isFilled, straightenedSize } from "@atelier/server/retouch";
import { describe, expect, test } from "vitest";
import {
  changesPicture,
  type CropSettings,
  fromParams,
  mirrored,
  moved,
  noCrop,
  ratioOf,
  rectOf,
  reshaped,
  resized,
  toParams,
  turned,
  settle,
} from "./frame.ts";

const size = { width: 400, height: 300 };
const drawn = settle(size, { ...noCrop, kept: { left: 100, top: 50, width: 200, height: 100 } });
const rect = (settings: CropSettings) => toParams(size, settings).rect;

test("without a frame the whole picture is kept, and that changes nothing", () => {
  expect(rect(noCrop)).toEqual({ left: 0, top: 0, ...size });
  expect(changesPicture(size, noCrop)).toBe(false);
  expect(changesPicture(size, drawn)).toBe(true);
  expect(changesPicture(size, mirrored(noCrop))).toBe(true);
});

describe("a frame", () => {
  test("is moved as far as there is picture, each way by itself", () => {
    expect(rect(moved(size, drawn, { x: 30, y: -20 }))).toEqual({
      left: 130,
      top: 30,
      width: 200,
      height: 100,
    });
    const pushed = rect(moved(size, drawn, { x: 900, y: 10 }));
    expect(pushed).toEqual({ left: 200, top: 60, width: 200, height: 100 });
  });

  test("is pulled at corners and sides; the opposite one stays, and it does not turn inside out", () => {
    expect(rect(resized(size, drawn, { x: 1, y: 1 }, { x: 20, y: 30 }))).toEqual({
      left: 100,
      top: 50,
      width: 220,
      height: 130,
    });
    expect(rect(resized(size, drawn, { x: -1, y: 0 }, { x: 20, y: 30 }))).toEqual({
      left: 120,
      top: 50,
      width: 180,
      height: 100,
    });
    const small = rect(resized(size, drawn, { x: -1, y: -1 }, { x: 900, y: 900 }));
    expect(small).toEqual({ left: 284, top: 134, width: 16, height: 16 });
  });

  test("keeps its ratio where one is chosen, upright too", () => {
    const square = reshaped(size, drawn, { ratio: "1:1", isTall: false });
    const pulled = rect(resized(size, square, { x: 1, y: 0 }, { x: 40, y: 0 }));
    expect(pulled.width).toBe(pulled.height);
    const tall = reshaped(size, noCrop, { ratio: "5:4", isTall: true });
    expect(rect(tall)).toEqual({ left: 80, top: 0, width: 240, height: 300 });
  });

  test.each([7, -30, 45])("never has an empty corner, turned by %s degrees and pulled anywhere", (angle) => {
    let settings: CropSettings = { ...drawn, angle };
    for (const by of [
      { x: 500, y: 0 },
      { x: -300, y: 400 },
      { x: 90, y: -700 },
    ]) {
      settings = moved(size, settings, by);
      expect(isFilled(size, settings, rect(settings))).toBe(true);
      settings = resized(size, settings, { x: 1, y: -1 }, by);
      expect(isFilled(size, settings, rect(settings))).toBe(true);
    }
  });

  test("shrinks under an angle and is as it was without it", () => {
    const wide = settle(size, { ...noCrop, kept: { left: 0, top: 0, width: 400, height: 100 } });
    expect(rect({ ...wide, angle: 20 }).width).toBeLessThan(390);
    expect(rect({ ...wide, angle: 20 }).width / rect({ ...wide, angle: 20 }).height).toBeCloseTo(4, 1);
    expect(rect({ ...wide, angle: 0 })).toEqual({ left: 0, top: 0, width: 400, height: 100 });
  });

  test("goes with the picture when that is turned and mirrored: four turns and two mirrors are none", () => {
    const once = turned(drawn);
    expect(straightenedSize(size, once)).toEqual({ width: 300, height: 400 });
    // 50 px were above it, and are now to its right.
    expect(rect(once)).toEqual({ left: 150, top: 100, width: 100, height: 200 });
    expect(rect(turned(turned(turned(once))))).toEqual(rect(drawn));
    const other = moved(size, drawn, { x: 40, y: 0 });
    expect(rect(mirrored(other))).toEqual({ left: 60, top: 50, width: 200, height: 100 });
    expect(mirrored(mirrored({ ...other, angle: 5 }))).toEqual({ ...other, angle: 5 });
    expect(turned(mirrored(drawn))).toMatchObject({ turns: 3, mirror: true });
  });

  test("the ratio of the picture itself turns with it", () => {
    const original = reshaped(size, noCrop, { ratio: "original", isTall: false });
    expect(ratioOf(size, original)).toBeCloseTo(4 / 3);
    expect(ratioOf(size, turned(original))).toBeCloseTo(3 / 4);
  });
});

test("a crop opens again as it was set", () => {
  const settings = { ...moved(size, turned(drawn), { x: 12, y: 7 }), angle: -6.5 };
  const params = toParams(size, settings);
  expect(toParams(size, settle(size, fromParams(params)))).toEqual(params);
  expect(settle(size, fromParams({ turns: 2 }))).toEqual({ ...noCrop, turns: 2 });
  expect(rectOf(size, settle(size, fromParams({})))).toEqual({ left: 0, top: 0, ...size });
});
