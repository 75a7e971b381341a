import { expect, test } from "vitest";
import { nameColour } from "./colour.ts";

test("C1 a colour has the word that people use for it", () => {
  const words = [
    [0x10, 0x10, 0x10],
    [0xfa, 0xfa, 0xf7],
    [0xff, 0x8c, 0x1a],
    [0x6b, 0x44, 0x23],
    [0xff, 0xc0, 0xcb],
    [0x80, 0x00, 0x80],
    [0x1a, 0x9e, 0x96],
  ].map(([r = 0, g = 0, b = 0]) => nameColour({ r, g, b }));
  expect(words).toEqual(["black", "white", "orange", "brown", "pink", "purple", "blue"]);
});
