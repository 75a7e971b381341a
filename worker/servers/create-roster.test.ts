import pino from "pino";
import { expect, test } from "vitest";
import { createRoster } from "./create-roster.ts";

const timing = { probeMs: 100, probeTimeoutMs: 10_000, discoverMs: 50, objectInfoMs: 60_000 };

test("A17 a roster that is stopped while it first reads its sources reads them no more", async () => {
  const answer = Promise.withResolvers<never[]>();
  let reads = 0;
  const read = () => {
    reads += 1;
    return answer.promise;
  };
  const roster = createRoster({
    sources: [{ name: "slow", read }],
    workflows: () => [],
    timing,
    log: pino({ level: "silent" }),
    onChange: () => undefined,
  });
  const started = roster.start();
  await roster.stop();
  answer.resolve([]);
  await started;
  expect(reads).toBe(1);
});
