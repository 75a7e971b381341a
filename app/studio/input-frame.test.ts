import { expect, test } from "vitest";
import { frameProportion } from "./input-frame.tsx";

test("a frame takes the proportions of its picture", () => {
  expect(frameProportion({ widthPx: 768, heightPx: 768 })).toBe(1);
  expect(frameProportion({ widthPx: 600, heightPx: 800 })).toBe(0.75);
});

test("a panorama or a strip does not bend it, and without a picture it stands upright", () => {
  expect(frameProportion({ widthPx: 3000, heightPx: 500 })).toBe(1.5);
  expect(frameProportion({ widthPx: 100, heightPx: 500 })).toBe(0.66);
  expect(frameProportion(undefined)).toBe(0.8);
});
