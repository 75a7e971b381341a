import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createHintChannel } from "./hints.ts";
import type { JobHint } from "./index.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function openChannel() {
  const sent: unknown[] = [];
  const channel = createHintChannel(
    { send: async (_channel, text) => void sent.push(JSON.parse(text)), listen() {}, async close() {} },
    () => undefined,
  );
  const hint = (jobId: string, revision: number): JobHint => ({ ownerId: "owner", jobId, revision });
  const publish = (...jobs: readonly JobHint[]) => channel.publish({ type: "jobs", jobs });
  const take = () => sent.splice(0);
  return { channel, hint, publish, take };
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
