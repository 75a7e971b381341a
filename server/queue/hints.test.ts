import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createHintChannel } from "./hints.ts";
import type { JobHint } from "./index.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function openChannel() {
  const sent: unknown[] = [];
  const kept: Promise<unknown>[] = [];
  const listened: string[] = [];
  const heard: (() => void)[] = [];
  const channel = createHintChannel(
    {
      send: async (_channel, text) => void sent.push(JSON.parse(text)),
      listen(name, { onHeard }) {
        listened.push(name);
        heard.push(onHeard);
      },
      unlisten: async (name) => void listened.splice(listened.indexOf(name), 1),
      async close() {},
    },
    { onError: () => undefined, later: (work) => void kept.push(work) },
  );
  const hint = (jobId: string, revision: number): JobHint => ({ ownerId: "owner", jobId, revision });
  const publish = (...jobs: readonly JobHint[]) => channel.publish({ type: "jobs", jobs });
  const take = () => sent.splice(0);
  return { channel, hint, publish, take, kept, listened, heard };
}

test("a hint after a pause is sent at once, the next ones together within 20 ms", () => {
  const { hint, publish, take } = openChannel();
  publish(hint("one", 1));
  publish(hint("one", 2), hint("two", 1));
  vi.advanceTimersByTime(1);
  expect(take()).toEqual([{ type: "jobs", jobs: [hint("one", 2), hint("two", 1)] }]);
  for (let revision = 3; revision < 12; revision += 1) {
    publish(hint("one", revision));
    vi.advanceTimersByTime(1);
  }
  expect(take()).toEqual([]);
  vi.advanceTimersByTime(20);
  expect(take()).toEqual([{ type: "jobs", jobs: [hint("one", 11)] }]);
  vi.advanceTimersByTime(100);
  expect([take(), vi.getTimerCount()]).toEqual([[], 0]);
  publish(hint("two", 2));
  vi.advanceTimersByTime(1);
  expect(take()).toEqual([{ type: "jobs", jobs: [hint("two", 2)] }]);
});

test("A3 a function is not frozen before its hints are sent, however they were gathered", async () => {
  const { channel, hint, publish, take, kept } = openChannel();
  publish(hint("one", 1));
  publish(hint("one", 2));
  channel.publish({ type: "cancel", jobId: "one" });
  // One for the gathered hints, one for the message that goes at once.
  expect(kept).toHaveLength(2);
  vi.advanceTimersByTime(1);
  await Promise.all(kept);
  expect(take()).toHaveLength(2);
  publish(hint("one", 3));
  expect(kept).toHaveLength(3);
  vi.advanceTimersByTime(40);
  await Promise.all(kept);
  expect(take()).toEqual([{ type: "jobs", jobs: [hint("one", 3)] }]);
});

test("a process listens while somebody in it does, and again when somebody comes back", () => {
  const { channel, listened } = openChannel();
  const [first, second] = [channel.subscribe(() => undefined), channel.subscribe(() => undefined)];
  const progress = channel.subscribeLive(() => undefined);
  expect(listened).toEqual(["hints", "progress"]);
  first();
  first();
  progress();
  expect(listened).toEqual(["hints"]);
  second();
  expect(listened).toEqual([]);
  channel.subscribe(() => undefined);
  expect(listened).toEqual(["hints"]);
});

test("a subscriber is told each time its messages begin to arrive, one that comes later at once", () => {
  const { channel, heard } = openChannel();
  const told: string[] = [];
  const note = (name: string) => () => void told.push(name);
  const first = channel.subscribeLive(() => undefined, note("first"));
  expect(told).toEqual([]);
  heard[0]?.();
  const second = channel.subscribeLive(() => undefined, note("second"));
  expect(told).toEqual(["first", "second"]);
  heard[0]?.();
  expect(told).toEqual(["first", "second", "first", "second"]);
  first();
  second();
  channel.subscribeLive(() => undefined, note("third"));
  // An answer to the listening that has ended.
  heard[0]?.();
  expect(told).toHaveLength(4);
  heard[1]?.();
  expect(told.slice(4)).toEqual(["third"]);
});

test("ends are told in the process at once, and neither sent nor listened for", async () => {
  const { channel, take, listened, kept } = openChannel();
  const told: (readonly string[])[] = [];
  const close = channel.onEnded((jobIds) => void told.push(jobIds));
  channel.onEnded((jobIds) => void told.push(jobIds));
  channel.tellEnded(["one", "two"]);
  close();
  channel.tellEnded(["three"]);
  expect(told).toEqual([["one", "two"], ["one", "two"], ["three"]]);
  vi.advanceTimersByTime(100);
  expect([take(), listened, kept]).toEqual([[], [], []]);
  await channel.close();
  channel.tellEnded(["four"]);
  expect(told).toHaveLength(3);
});

test("hints that wait are sent when the channel closes", async () => {
  const { channel, hint, publish, take } = openChannel();
  publish(hint("one", 1));
  vi.advanceTimersByTime(1);
  publish(hint("one", 2));
  await channel.close();
  expect(take()).toEqual([
    { type: "jobs", jobs: [hint("one", 1)] },
    { type: "jobs", jobs: [hint("one", 2)] },
  ]);
  expect(vi.getTimerCount()).toBe(0);
});

test("a subscription after the channel has closed opens nothing", async () => {
  const { channel, listened, kept } = openChannel();
  await channel.close();
  channel.subscribe(() => undefined)();
  channel.subscribeLive(() => undefined)();
  expect([listened, kept]).toEqual([[], []]);
});

test("nothing is sent after the channel has closed, and no timer waits to send it", async () => {
  const { channel, hint, publish, take, kept } = openChannel();
  await channel.close();
  publish(hint("one", 1));
  channel.publish({ type: "cancel", jobId: "one" });
  channel.publish({ type: "watched", jobIds: ["one"], wantsLatest: false });
  expect([vi.getTimerCount(), kept, take()]).toEqual([0, [], []]);
});
