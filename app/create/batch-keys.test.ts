import { expect, test } from "vitest";
import { createBatchKeys } from "./batch-keys.ts";

test("A4 a batch that was cut off goes on with its own keys; a settled one starts anew", () => {
  const batches = createBatchKeys();
  const first = batches.open([{ seed: 1 }, { seed: 2 }]);
  first.started.add(0);
  const again = batches.open([{ seed: 1 }, { seed: 2 }]);
  expect(again.keys).toEqual(first.keys);
  expect([...again.started]).toEqual([0]);
  expect(new Set(first.keys).size).toBe(2);
  batches.settle();
  expect(batches.open([{ seed: 1 }, { seed: 2 }]).keys).not.toEqual(first.keys);
});

test("A4 another request is another batch", () => {
  const batches = createBatchKeys();
  const { keys } = batches.open([{ seed: 1 }]);
  expect(batches.open([{ seed: 2 }]).keys).not.toEqual(keys);
});
