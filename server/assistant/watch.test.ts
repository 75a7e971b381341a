import { createTestServices, type TestServices } from "@atelier/testing/services";
import { addOwner } from "@atelier/testing/jobs";
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { schema } from "../db/index.ts";
import type { Services } from "../services.ts";
import { ask } from "./ask.ts";
import { runLooksOf } from "./run-looks.ts";
import { watchRuns, type RunUpdate } from "./watch.ts";

let opened: TestServices;
beforeAll(async () => {
  opened = await createTestServices();
});
afterAll(() => opened.close());

test("O1 a process looks at the runs of all open streams by one statement, and finds what no notice told", async () => {
  const { services } = opened;
  let statements = 0;
  const db = new Proxy(services.db, {
    get(target, name, receiver) {
      if (name === "select") statements += 1;
      return Reflect.get(target, name, receiver) as unknown;
    },
  });
  const counting = { ...services, db };
  const owners = await Promise.all(Array.from({ length: 30 }, () => addOwner(services)));
  const stop = new AbortController();
  const told = new Map<string, RunUpdate[]>();
  const streams = owners.map(async ({ userId }) => {
    told.set(userId, []);
    for await (const update of watchRuns(counting, { ownerId: userId, signal: stop.signal }))
      told.get(userId)?.push(update);
  });
  await vi.waitUntil(() => statements >= owners.length + 3, { timeout: 20_000 });
  const beforeMs = performance.now();
  const before = statements;
  await vi.waitUntil(() => statements >= before + 3, { timeout: 20_000 });
  // A look of each stream by itself would be thirty statements a second.
  expect(performance.now() - beforeMs).toBeGreaterThan(1_500);

  const [first] = owners;
  const ownerId = first?.userId ?? "";
  const { runId } = await ask(services, { ownerId, text: "hello" });
  const statusesTold = () =>
    (told.get(ownerId) ?? []).flatMap((update) =>
      update.type === "runs" ? update.runs.map(({ status }) => status) : [],
    );
  await vi.waitUntil(() => statusesTold().includes("new"), { timeout: 20_000 });
  // Nothing tells of this change.
  await services.db
    .update(schema.assistantRuns)
    .set({ status: "failed", revision: 9, endedAt: new Date() })
    .where(eq(schema.assistantRuns.id, runId));
  await vi.waitUntil(() => statusesTold().includes("failed"), { timeout: 20_000 });
  expect(owners.slice(1).flatMap(({ userId }) => told.get(userId))).toEqual([]);
  stop.abort();
  await Promise.all(streams);
});

test("a database that is slow or fails gets one look at a time, and what changed meanwhile is looked for after it", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const looks: PromiseWithResolvers<object[]>[] = [];
  const groupBy = () => {
    const look = Promise.withResolvers<object[]>();
    looks.push(look);
    return look.promise;
  };
  const db = { select: () => ({ from: () => ({ where: () => ({ groupBy }) }) }) };
  const told: string[] = [];
  // Safe cast: the parts that a look uses.
  const runLooks = runLooksOf({ db, log: opened.services.log } as unknown as Services);
  const remove = runLooks.add("one", () => told.push("one"));
  await vi.advanceTimersByTimeAsync(1_000);
  runLooks.add("two", () => told.push("two"));
  runLooks.soon();
  await vi.advanceTimersByTimeAsync(20_000);
  expect(looks).toHaveLength(1);
  looks[0]?.resolve([{ ownerId: "one", mark: "a run", isBusy: false }]);
  await vi.advanceTimersByTimeAsync(1_000);
  expect([looks.length, told]).toEqual([2, ["one"]]);
  looks[1]?.reject(new Error("away"));
  remove();
  await vi.advanceTimersByTimeAsync(1_000);
  looks[2]?.resolve([{ ownerId: "two", mark: "a run", isBusy: false }]);
  await vi.advanceTimersByTimeAsync(14_000);
  expect([looks.length, told]).toEqual([3, ["one", "two"]]);
});
