import { expect, test } from "vitest";
import { unchosenOf } from "./list-acts.tsx";

const stacks = (...ids: readonly string[]) =>
  ids.map((stackId) => ({ id: `top of ${stackId}`, stackId, stackSize: 2 }));
async function* pages(...read: readonly (readonly string[])[]) {
  for (const ids of read) yield await Promise.resolve(stacks(...ids));
}
const found = (read: readonly (readonly string[])[], chosen: readonly string[], most = 100) =>
  Array.fromAsync(
    unchosenOf(pages(...read), stacks(...chosen), most),
    (added) => added?.map(({ stackId }) => stackId) ?? null,
  );

test("what was chosen once is not chosen again by a page that comes later, as it may have been taken out", async () => {
  expect(await found([["a", "b"], ["b", "c"], ["c"]], ["a"])).toEqual([["b"], ["c"], []]);
});

test("so many are chosen at the most, those that the list has among them, and it is said only where there are more", async () => {
  expect(await found([["a", "b", "c"], ["d"]], ["b"], 2)).toEqual([["a"], null]);
  expect(await found([["a", "b"], []], ["b"], 2)).toEqual([["a"], []]);
  expect(await found([["c"]], ["a", "b"], 1)).toEqual([[], null]);
});
