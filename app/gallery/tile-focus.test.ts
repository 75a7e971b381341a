import { expect, test } from "vitest";
import { heirOf } from "./rectangle.tsx";

const alone = (ids: readonly string[]) => ids.map((id) => ({ id, stack: id }));
const before = alone(["a", "b", "c", "d"]);

test.each([
  ["one that is still there keeps it", "b", ["d", "b"], "b"],
  ["the next one takes it", "b", ["a", "c", "d"], "c"],
  ["of several that are gone the next that stays", "b", ["a", "d"], "d"],
  ["at the end the one before", "d", ["a", "b", "c"], "c"],
  ["nothing that was not beside it", "b", ["x"], undefined],
  ["nothing after a jump to other pictures", "x", ["a"], undefined],
])("%s", (_what, id, now, heir) => {
  expect(heirOf(id, before, alone(now))).toBe(heir);
});

test("another picture of its stack takes it, wherever that one stands", () => {
  const now = [...alone(["c", "d", "a"]), { id: "older", stack: "b" }];
  expect(heirOf("b", before, now)).toBe("older");
});
