import { expect, test } from "vitest";
import { frameProportion } from "./frame-proportion.ts";

test("the frames take the proportions of the tallest picture", () => {
  expect(frameProportion([{ widthPx: 768, heightPx: 768 }, undefined])).toBe(1);
  expect(
    frameProportion([
      { widthPx: 768, heightPx: 768 },
      { widthPx: 600, heightPx: 800 },
    ]),
  ).toBe(0.75);
});

test("a panorama or a strip does not bend them, and without pictures they stand upright", () => {
  expect(frameProportion([{ widthPx: 3000, heightPx: 500 }])).toBe(1);
  expect(frameProportion([{ widthPx: 100, heightPx: 500 }])).toBe(0.66);
  expect(frameProportion([undefined])).toBe(0.8);
});
