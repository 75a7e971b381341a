import { expect, test, vi } from "vitest";
import { orLate } from "./index.ts";

test("what comes in time is given, an error too, and no timer is left", async () => {
  vi.useFakeTimers();
  await expect(orLate(Promise.resolve("work"), 1_000, () => "late")).resolves.toBe("work");
  await expect(orLate(Promise.reject(new Error("broken")), 1_000, () => "late")).rejects.toThrow("broken");
  expect(vi.getTimerCount()).toBe(0);
});

test("what is late gives or throws what `late` does, whatever the work does then", async () => {
  vi.useFakeTimers();
  const work = Promise.withResolvers<string>();
  const given = orLate(work.promise, 1_000, () => "late");
  const thrown = orLate(work.promise, 1_000, () => {
    throw new Error("no answer");
  });
  const both = Promise.allSettled([given, thrown]);
  await vi.advanceTimersByTimeAsync(999);
  expect(vi.getTimerCount()).toBe(2);
  await vi.advanceTimersByTimeAsync(1);
  work.reject(new Error("broken"));
  await expect(both).resolves.toMatchObject([{ value: "late" }, { reason: { message: "no answer" } }]);
});
