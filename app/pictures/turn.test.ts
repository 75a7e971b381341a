import { expect, test } from "vitest";
import { collectTurns, turnOfKey } from "./turn.tsx";

test("R turns to the right, with Shift to the left, and other keys turn nothing", () => {
  expect(["r", "R", "t", ""].map(turnOfKey)).toEqual([1, 3, null, null]);
});

test("presses add up to one turn: two halves are half a turn, and left takes right back", () => {
  const after = (...turns: readonly (1 | 3)[]) =>
    turns.reduce(
      (before: ReturnType<typeof collectTurns> | null, by) => collectTurns(before, ["a"], by),
      null,
    )?.turns;
  expect(after(1)).toBe(1);
  expect(after(3)).toBe(3);
  expect(after(1, 1)).toBe(2);
  expect(after(1, 3)).toBe(0);
  expect(after(1, 1, 1, 1)).toBe(0);
});
