import { expect, test } from "vitest";
import { callFor, chunksOf, idsPerCall } from "./actions.tsx";

test("a list is cut into pieces that hold everything once, in order", () => {
  expect(chunksOf([1, 2, 3, 4, 5], 2)).toEqual([[1, 2], [3, 4], [5]]);
  expect(chunksOf([1, 2], 2)).toEqual([[1, 2]]);
  expect(chunksOf([], 2)).toEqual([]);
});

test("of calls that fail half-way the ids of those before are known, and no more are made", async () => {
  const ids = Array.from({ length: 2 * idsPerCall + 1 }, (_, index) => String(index));
  const error = new Error("offline");
  let calls = 0;
  const made = await callFor(ids, async () => {
    calls += 1;
    if (calls === 2) throw error;
  });
  expect(made).toEqual({ done: ids.slice(0, idsPerCall), failure: { error } });
  expect(calls).toBe(2);
  expect(await callFor(ids, async () => undefined)).toEqual({ done: ids, failure: null });
});
