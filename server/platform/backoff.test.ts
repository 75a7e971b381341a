import { expect, test } from "vitest";
import { backoffMs } from "./backoff.ts";

test("a pause doubles with each failure up to the longest", () => {
  const pauses = [1, 2, 3, 4, 5, 2_000].map((failures) =>
    backoffMs(failures, { firstMs: 500, mostMs: 5_000 }),
  );
  expect(pauses).toEqual([500, 1_000, 2_000, 4_000, 5_000, 5_000]);
});

test("a pause grows by the factor that is asked for", () => {
  const pauses = [1, 2, 3].map((failures) => backoffMs(failures, { firstMs: 400, factor: 1.5 }));
  expect(pauses).toEqual([400, 600, 900]);
});

test("no pause stays none, after any number of failures", () => {
  expect([1, 9, 10_000].map((failures) => backoffMs(failures, { firstMs: 0, mostMs: 9 }))).toEqual([0, 0, 0]);
});
