import { expect, test } from "vitest";
import type { SayTime } from "../jobs/text.ts";
import { formatAge, formatSpan } from "./parts.tsx";

const letters = { seconds: "s", minutes: "min", hours: "h", days: "d" };
const say: SayTime = (value, unit, digits = 0) =>
  `${typeof value === "number" ? value.toFixed(digits) : value} ${letters[unit]}`;

test.each([
  [0, "0.0 s", "0 s"],
  [-5, "0.0 s", "0 s"],
  [420, "0.4 s", "0 s"],
  [9_960, "9 s", "9 s"],
  [59_999, "59 s", "59 s"],
  [60_000, "1 min", "1 min"],
  [200_000, "3 min 20 s", "3 min"],
  [2 * 3_600_000 + 5 * 60_000, "2 h 5 min", "2 h"],
  [(4 * 24 + 3) * 3_600_000, "4 d 3 h", "4 d"],
])("%d ms is %s, or %s ago", (ms, span, age) => {
  expect([formatSpan(ms, say), formatAge(ms, say)]).toEqual([span, age]);
});
