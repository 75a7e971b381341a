import { expect, test } from "vitest";
import { keepShown } from "./keep-shown.ts";

const shown = [{ id: "a" }, { id: "b" }];

test("a selection loses what is no longer shown", () => {
  expect([...keepShown(new Set(["a", "hidden"]), shown)]).toEqual(["a"]);
  expect(keepShown(new Set(["hidden"]), shown).size).toBe(0);
});

test("a selection that is shown stays the same set", () => {
  const chosen = new Set(["b", "a"]);
  expect(keepShown(chosen, shown)).toBe(chosen);
});
