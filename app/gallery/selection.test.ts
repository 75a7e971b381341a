import { describe, expect, test } from "vitest";
import { keepShown, rangeBetween } from "./selection.tsx";

describe("keep shown", () => {
  const shown = [{ id: "a" }, { id: "b" }];

  test("a selection loses what is no longer shown", () => {
    expect([...keepShown(new Set(["a", "hidden"]), shown)]).toEqual(["a"]);
    expect(keepShown(new Set(["hidden"]), shown).size).toBe(0);
  });

  test("a selection that is shown stays the same set", () => {
    const chosen = new Set(["b", "a"]);
    expect(keepShown(chosen, shown)).toBe(chosen);
  });
});

describe("selection", () => {
  const items = ["a", "b", "c", "d"].map((id) => ({ id }));

  test("a range holds both ends, whichever comes first", () => {
    expect(rangeBetween(items, "b", "d")).toEqual(["b", "c", "d"]);
    expect(rangeBetween(items, "d", "b")).toEqual(["b", "c", "d"]);
  });

  test("a range from a picture that is gone is the clicked picture alone", () => {
    expect(rangeBetween(items, "z", "c")).toEqual(["c"]);
  });
});
