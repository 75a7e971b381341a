import { expect, test } from "vitest";
import { createSlots } from "./slots.ts";

test("no more begins than there are slots, nothing twice, and the next when one has ended", async () => {
  let freed = 0;
  const slots = createSlots<string>({ max: 2, onFree: () => (freed += 1) });
  const [one, two] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  expect(slots.begin("one", "first", () => one.promise)).toBe(true);
  expect(slots.begin("one", "again", () => one.promise)).toBe(false);
  expect(slots.begin("two", "second", () => two.promise)).toBe(true);
  expect(slots.begin("three", "third", () => Promise.resolve())).toBe(false);
  expect([slots.free(), slots.ids(), slots.get("one")]).toEqual([0, ["one", "two"], "first"]);
  // What fails gives its slot back as well.
  one.reject(new Error("failed"));
  await expect.poll(() => freed).toBe(1);
  expect([slots.free(), slots.ids(), slots.get("one")]).toEqual([1, ["two"], undefined]);
  expect(slots.begin("three", "third", () => Promise.resolve())).toBe(true);
});

test("closed slots begin nothing, wait for what is under way and wake nobody", async () => {
  let freed = 0;
  const slots = createSlots<null>({ max: 2, onFree: () => (freed += 1) });
  const work = Promise.withResolvers<void>();
  let hasClosed = false;
  slots.begin("one", null, () => work.promise);
  const closed = slots.close().then(() => (hasClosed = true));
  expect([slots.begin("two", null, () => Promise.resolve()), slots.free()]).toEqual([false, 0]);
  await new Promise((resolve) => setImmediate(resolve));
  expect(hasClosed).toBe(false);
  work.resolve();
  await closed;
  expect([freed, slots.size]).toEqual([0, 0]);
});
