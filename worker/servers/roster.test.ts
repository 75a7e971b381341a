import pino from "pino";
import { expect, test, vi } from "vitest";
import { createRoster } from "./roster.ts";
import { startStandIn } from "./fixtures/stand-in.ts";
import { parseAddress } from "./address.ts";
import type { ListedServer, Source } from "./sources/http.ts";

const timing = { probeMs: 100, probeTimeoutMs: 10_000, discoverMs: 50, objectInfoMs: 60_000 };

const rosterOf = (source: Source) =>
  createRoster({
    sources: [source],
    workflows: () => [],
    timing,
    known: {},
    log: pino({ level: "silent" }),
    onChange: () => undefined,
  });

test("A17 a roster that is stopped while it first reads its sources reads them no more", async () => {
  const answer = Promise.withResolvers<never[]>();
  let reads = 0;
  const read = () => {
    reads += 1;
    return answer.promise;
  };
  const roster = rosterOf({ name: "slow", read });
  const started = roster.start();
  await roster.stop();
  answer.resolve([]);
  await started;
  expect(reads).toBe(1);
});

test("A10 credentials that a list changes are sent with the next probe", async () => {
  const server = await startStandIn();
  const listed = (who: string): ListedServer => ({
    ...parseAddress(server.url.replace("//", `//${who}@`)),
    engine: "comfyui",
    weight: 1,
    isBackup: false,
    isDrained: false,
  });
  let list = [listed("me:old")];
  const roster = rosterOf({ name: "list", read: async () => list });
  try {
    await roster.start();
    list = [listed("me:new")];
    const authorization = `Basic ${Buffer.from("me:new").toString("base64")}`;
    const isNew = () => server.asked.at(-1)?.authorization === authorization;
    expect(await vi.waitUntil(isNew, { timeout: 10_000 })).toBe(true);
  } finally {
    await roster.stop();
    await server.kill();
  }
});
