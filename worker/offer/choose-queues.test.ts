import { parseConfig } from "@atelier/server/platform";
import { expect, test } from "vitest";
import { chooseLightQueue } from "./choose-queues.ts";

const machine = { cores: 4, memoryBytes: 8 * 1024 ** 3, gpus: [] };

test("D3 a machine's lightest queue is the one that asks for the least of those that it satisfies", () => {
  const queues = { light: { minCores: 1 }, middle: { minCores: 2 }, cards: { minVramGib: 8 } };
  expect(chooseLightQueue(parseConfig({ queues }), machine)).toBe("light");
  const demanding = { "large-memory": { minMemoryGib: 64 }, cores: { minCores: 4 } };
  expect(chooseLightQueue(parseConfig({ queues: demanding }), machine)).toBe("cores");
  expect(chooseLightQueue(parseConfig({ queues: { first: {}, last: {} } }), machine)).toBe("last");
  expect(chooseLightQueue(parseConfig({ queues: { cards: { minVramGib: 8 } } }), machine)).toBeNull();
});
