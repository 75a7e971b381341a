import { describe, expect, test } from "vitest";
import { middle } from "../frame/rect.ts";
import {
  brokenLimit,
  type Expansion,
  frameOf,
  fromParams,
  grownSize,
  isGrown,
  marginsOf,
  noExpansion,
  pulledOut,
  reachedLimit,
  reshaped,
  withSide,
} from "./frame.ts";

const size = { width: 600, height: 400 };
const ground = { size, sidePx: 1_000, pixels: 1_500_000 };
const grown: Expansion = { ...noExpansion, left: 40, top: 10, right: 60, bottom: 30 };
const corner = { x: 1, y: 1 } as const;
const rightSide = { x: 1, y: 0 } as const;

test("a new frame is the picture and adds nothing", () => {
  expect(frameOf(size, noExpansion)).toEqual({ left: 0, top: 0, ...size });
  expect(isGrown(noExpansion)).toBe(false);
  expect(frameOf(size, grown)).toEqual({ left: -40, top: -10, width: 700, height: 440 });
});

describe("a frame", () => {
  test("is pulled outwards at sides and corners, in whole px, and the other sides stay", () => {
    const right = pulledOut(ground, noExpansion, { handle: rightSide, by: { x: 33.4, y: 90 } });
    expect(marginsOf(right)).toEqual({ left: 0, top: 0, right: 33, bottom: 0 });
    const both = pulledOut(ground, grown, { handle: { x: -1, y: -1 }, by: { x: -20, y: -5 } });
    expect(marginsOf(both)).toEqual({ left: 60, top: 15, right: 60, bottom: 30 });
  });

  test("is pulled inwards no further than the picture's side", () => {
    const pushed = pulledOut(ground, grown, { handle: corner, by: { x: -900, y: -900 } });
    expect(marginsOf(pushed)).toEqual({ left: 40, top: 10, right: 0, bottom: 0 });
  });

  test("is moved around the picture, which stays inside", () => {
    const moved = pulledOut(ground, grown, { handle: middle, by: { x: 25, y: -15 } });
    expect(marginsOf(moved)).toEqual({ left: 15, top: 25, right: 85, bottom: 15 });
    const pushed = pulledOut(ground, grown, { handle: middle, by: { x: 9_000, y: -9_000 } });
    expect(marginsOf(pushed)).toEqual({ left: 0, top: 40, right: 100, bottom: 0 });
  });

  test("gets a shape by the least that is added, evenly or as it was parted before", () => {
    const square = reshaped(size, noExpansion, { ratio: "1:1", isTall: false });
    expect(square).toMatchObject({ left: 0, top: 100, right: 0, bottom: 100, ratio: "1:1" });
    const wide = reshaped(size, noExpansion, { ratio: "16:9", isTall: false });
    expect(grownSize(size, wide)).toEqual({ width: 711, height: 400 });
    const tall = reshaped(size, noExpansion, { ratio: "16:9", isTall: true });
    expect(grownSize(size, tall)).toEqual({ width: 600, height: 1_067 });
    const below = reshaped(size, { ...noExpansion, bottom: 8 }, { ratio: "1:1", isTall: false });
    expect(marginsOf(below)).toEqual({ left: 0, top: 0, right: 0, bottom: 200 });
    expect(reshaped(size, grown, { ratio: "free", isTall: false })).toEqual(grown);
  });

  test.each([corner, rightSide, { x: 0, y: -1 }, { x: -1, y: 1 }] as const)(
    "keeps its shape and holds the picture, pulled by %o",
    (handle) => {
      let settings = reshaped(size, noExpansion, { ratio: "3:2", isTall: true });
      for (const by of [
        { x: 70, y: 20 },
        { x: -300, y: -340 },
        { x: 40, y: 500 },
        { x: 2_000, y: -2_000 },
      ]) {
        settings = pulledOut(ground, settings, { handle, by });
        const { width, height } = grownSize(size, settings);
        expect(Math.abs(width - height / 1.5)).toBeLessThanOrEqual(1);
        expect(Math.min(...Object.values(marginsOf(settings)))).toBeGreaterThanOrEqual(0);
        expect(brokenLimit(ground, settings)).toBeNull();
      }
    },
  );

  test("the shape of the picture itself grows on all sides in proportion", () => {
    const original = reshaped(size, noExpansion, { ratio: "original", isTall: false });
    expect(isGrown(original)).toBe(false);
    const pulled = pulledOut(ground, original, { handle: corner, by: { x: 150, y: 0 } });
    expect(marginsOf(pulled)).toEqual({ left: 0, top: 0, right: 150, bottom: 100 });
  });
});

describe("the limits of size", () => {
  test("stop a pull at the largest side and at the most pixels", () => {
    const far = pulledOut(ground, noExpansion, { handle: rightSide, by: { x: 5_000, y: 0 } });
    expect(marginsOf(far)).toEqual({ left: 0, top: 0, right: 1_000, bottom: 0 });
    expect([brokenLimit(ground, far), reachedLimit(ground, far)]).toEqual([null, "sidePx"]);
    const large = pulledOut(ground, noExpansion, { handle: corner, by: { x: 950, y: 950 } });
    const { width, height } = grownSize(size, large);
    expect(width * height).toBeLessThanOrEqual(ground.pixels);
    expect(reachedLimit(ground, large)).toBe("pixels");
    expect(reachedLimit(ground, grown)).toBeNull();
  });

  test("name what is typed or shaped beyond them, and a pull leads back", () => {
    const typed = withSide({ ...grown, ratio: "1:1" }, "left", 1_000.6);
    expect(typed).toMatchObject({ left: 1_001, ratio: "free" });
    expect(brokenLimit(ground, typed)).toBe("sidePx");
    const panorama = { ...ground, size: { width: 3_000, height: 300 } };
    const square = reshaped(panorama.size, noExpansion, { ratio: "1:1", isTall: false });
    expect(brokenLimit(panorama, square)).toBe("pixels");
    const free = { ...square, ratio: "free" } as const;
    const back = pulledOut(panorama, free, { handle: { x: 0, y: 1 }, by: { x: 0, y: -1_350 } });
    expect(brokenLimit(panorama, back)).toBe("pixels");
    const further = pulledOut(panorama, back, { handle: { x: 0, y: -1 }, by: { x: 0, y: 1_300 } });
    expect(brokenLimit(panorama, further)).toBeNull();
    expect(withSide(grown, "top", -5).top).toBe(0);
  });
});

test("the margins of a job open again", () => {
  expect(fromParams({ right: 20, prompt: "sky" })).toEqual({ ...noExpansion, right: 20 });
});
