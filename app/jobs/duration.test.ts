import { expect, test } from "vitest";
import { formatSeconds } from "./duration.ts";

test.each([
  [0, "0 s"],
  [59, "59 s"],
  [65, "1:05 min"],
  [7389, "2:03:09 h"],
])("%d seconds read as %s", (seconds, text) => {
  expect(formatSeconds(seconds)).toBe(text);
});
