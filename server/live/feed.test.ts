import { createTestServices, type TestServices } from "@atelier/testing/services";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import type { Services } from "../services.ts";
import { feedOf, type LiveSource, type Mark } from "./index.ts";

let opened: TestServices;
beforeAll(async () => {
  opened = await createTestServices();
});
afterAll(() => opened.close());

interface Named {
  readonly id: string;
}

/** A source whose looks end when the test lets them. */
function openSource(asked?: string[][]) {
  const looks: PromiseWithResolvers<readonly Mark[]>[] = [];
  const source: LiveSource<Named, readonly Named[]> = {
    name: "runs",
    restMs: 15_000,
    liveEndsWithRevision: false,
    hinted: () => [],
    liveOf: () => null,
    joinLive: (_last, next) => next,
    readMarks: () => {
      const look = Promise.withResolvers<readonly Mark[]>();
      looks.push(look);
      return look.promise;
    },
    readRows: async (_services, ids) => ({
      at: "",
      rows: ids.map((id) => ({ mark: markOf(id), view: { id } })),
    }),
    readFirst: async () => [],
    toUpdate: (views) => views,
    openRequests: () => (ids) => void asked?.push([...ids]),
  };
  return { looks, source };
}

const markOf = (id: string): Mark => ({ id, ownerId: id, revision: 1, detail: "", isActive: false });

test("a database that is slow or fails gets one look at a time, and what changed meanwhile is looked for after it", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const { looks, source } = openSource();
  const told: string[] = [];
  // Safe cast: the parts that the feed uses; nobody is suspended.
  const services = {
    ...opened.services,
    db: { execute: async () => ["one", "two"].map((id) => ({ id })) },
    hints: { subscribe: () => () => undefined, subscribeLive: () => () => undefined },
  } as unknown as Services;
  const add = (ownerId: string) =>
    feedOf(services).add(source, {
      ownerId,
      wantsLive: true,
      push: () => told.push(ownerId),
      end: () => undefined,
    });
  const remove = add("one");
  await vi.advanceTimersByTimeAsync(1_000);
  add("two");
  await vi.advanceTimersByTimeAsync(20_000);
  expect(looks).toHaveLength(1);
  looks[0]?.resolve([markOf("one")]);
  await vi.advanceTimersByTimeAsync(0);
  expect([looks.length, told]).toEqual([1, ["one"]]);
  await vi.advanceTimersByTimeAsync(15_000);
  expect(looks).toHaveLength(2);
  looks[1]?.reject(new Error("away"));
  remove();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(looks).toHaveLength(3);
  looks[2]?.resolve([markOf("two")]);
  await vi.advanceTimersByTimeAsync(14_000);
  expect([looks.length, told]).toEqual([3, ["one", "two"]]);
});

test("A12 previews are asked for once they would arrive, and anew after a lost connection", () => {
  const asked: string[][] = [];
  const { source } = openSource(asked);
  const heard: (() => void)[] = [];
  const subscribeLive = (_listener: unknown, onHeard: () => void) => {
    heard.push(onHeard);
    return () => undefined;
  };
  // Safe cast: the parts that the feed uses before its first poll.
  const services = {
    ...opened.services,
    hints: { subscribe: () => () => undefined, subscribeLive },
  } as unknown as Services;
  const feed = feedOf(services);
  const add = (wantsLive: boolean) =>
    feed.add(source, { ownerId: "one", wantsLive, push: () => undefined, end: () => undefined });
  const [stay, leave] = [add(false), add(true)];
  feed.noteRead(source, [{ ...markOf("one"), isActive: true }]);
  expect(asked).toEqual([]);
  for (let times = 1; times <= 2; times += 1) {
    heard[0]?.();
    expect(asked.splice(0)).toEqual([[], ["one"]]);
  }
  feed.noteRead(source, [{ ...markOf("two"), ownerId: "one", isActive: true }]);
  expect(asked.splice(0)).toEqual([["one", "two"]]);
  leave();
  add(true);
  feed.noteRead(source, []);
  expect(asked).toEqual([]);
  heard[1]?.();
  expect(asked.splice(0)).toEqual([[], ["one", "two"]]);
  stay();
});
