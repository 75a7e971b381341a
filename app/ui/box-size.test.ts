import { expect, test } from "vitest";
import { fitBox } from "./box-size.ts";

test("a wide picture fills the width", () => {
  expect(fitBox({ width: 400, height: 400 }, { widthPx: 800, heightPx: 200 })).toEqual({
    width: 400,
    height: 100,
  });
});

test("a tall picture fills the height", () => {
  expect(fitBox({ width: 400, height: 200 }, { widthPx: 50, heightPx: 100 })).toEqual({
    width: 100,
    height: 200,
  });
});
