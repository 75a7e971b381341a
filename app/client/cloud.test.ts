import { expect, test } from "vitest";
import { nearCaps, ownOnly, withOwnOnly } from "./cloud.ts";

test("a warning comes from 80 % of a cap on, for the day and for the month", () => {
  const caps = { dailyUsd: 5, monthlyUsd: 50 };
  expect(nearCaps({ dayUsd: 3.99, monthUsd: 39.99, ...caps })).toEqual([]);
  expect(nearCaps({ dayUsd: 4, monthUsd: 10, ...caps })).toEqual([
    { period: "day", spentUsd: 4, capUsd: 5, isReached: false },
  ]);
  expect(nearCaps({ dayUsd: 5, monthUsd: 51, ...caps }).map(({ isReached }) => isReached)).toEqual([
    true,
    true,
  ]);
  // Sums of prices in binary fractions: what is 0.8 to the server is a little less here.
  const spentUsd = 0.1 + 0.7;
  expect(nearCaps({ dayUsd: spentUsd, monthUsd: 0, dailyUsd: 0.8, monthlyUsd: 1 })).toEqual([
    { period: "day", spentUsd, capUsd: 0.8, isReached: true },
  ]);
  expect(nearCaps({ dayUsd: 900, monthUsd: 900, dailyUsd: null, monthlyUsd: null })).toEqual([]);
});

test("a request says that only own machines may run it while the user chose that", () => {
  const request = { kind: "text_to_image", inputs: {}, params: { prompt: "a boat" } } as const;
  expect(withOwnOnly(request)).toBe(request);
  ownOnly.set(true);
  expect(withOwnOnly(request)).toEqual({ ...request, ownOnly: true });
  ownOnly.set(false);
  expect(withOwnOnly(request)).toBe(request);
});
