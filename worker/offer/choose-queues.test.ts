import { parseConfig } from "@atelier/server/platform";
import { leastDemandingQueue } from "@atelier/server/scheduling";
import { expect, test } from "vitest";
import { chooseLightQueue } from "./choose-queues.ts";

const machine = { cores: 4, memoryBytes: 8 * 1024 ** 3, gpus: [] };

test("D3 the lightest queue is the one that asks for the least, wherever it is listed", () => {
  const queues = { light: { minCores: 1 }, middle: { minCores: 2 }, cards: { minVramGib: 8 } };
  const config = parseConfig({ queues });
  expect(chooseLightQueue(config, machine)).toBe("light");
  expect(leastDemandingQueue(config)).toBe("light");
  expect(chooseLightQueue(parseConfig({ queues: { first: {}, last: {} } }), machine)).toBe("last");
  expect(chooseLightQueue(parseConfig({ queues: { cards: { minVramGib: 8 } } }), machine)).toBeNull();
});
