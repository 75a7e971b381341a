import { expect, test } from "vitest";
import { parseConfig, type ConfigInput } from "../platform/index.ts";
import { leastDemandingQueue } from "./place.ts";

const least = (queues: ConfigInput["queues"]) => leastDemandingQueue(parseConfig({ queues }).queues);

test("D3 the lightest queue asks for the least, first of cards, then of cores, then of memory, wherever it is listed", () => {
  expect(least({ light: { minCores: 1 }, middle: { minCores: 2 }, cards: { minVramGib: 8 } })).toBe("light");
  expect(least({ small: { minMemoryGib: 4 }, large: { minMemoryGib: 64 } })).toBe("small");
  expect(least({ cards: { minVramGib: 0.001 }, cores: { minCores: 64, minMemoryGib: 256 } })).toBe("cores");
});

test("D3 of queues that ask for the same the last is the lightest", () => {
  expect(least({ first: {}, last: {} })).toBe("last");
  expect(least({})).toBeNull();
});
