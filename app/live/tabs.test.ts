import type { JobsUpdate } from "@atelier/server/jobs";
import { afterEach, expect, test, vi } from "vitest";
import { createLiveStore } from "./store.ts";
import { startLive } from "./tabs.ts";
import type { OpenStream } from "./stream.ts";

const at = "2026-01-01T00:00:00.000Z";
const alive: JobsUpdate = { type: "alive", at };
const leaves: (() => void)[] = [];

afterEach(() => {
  for (const leave of leaves.splice(0)) leave();
});

/** A tab whose stream is spoken for by the test. */
function openTab(locks: LockManager | undefined) {
  const store = createLiveStore();
  const streams: Parameters<OpenStream>[1][] = [];
  let closedCount = 0;
  const open: OpenStream = (_since, handlers) => {
    streams.push(handlers);
    return () => void (closedCount += 1);
  };
  const leave = startLive({ store, open, locks });
  leaves.push(leave);
  return { store, streams, leave, closedCount: () => closedCount };
}

test("D7 one of two tabs leads, the other hears all it hears and takes over when it leaves", async () => {
  const first = openTab(navigator.locks);
  await vi.waitFor(() => expect(first.streams).toHaveLength(1));
  const second = openTab(navigator.locks);
  first.streams[0]?.onUpdate(alive);
  await vi.waitFor(() => expect(second.store.state()).toMatchObject({ at, connection: "live" }));
  expect(second.streams).toHaveLength(0);
  first.leave();
  await vi.waitFor(() => expect(second.streams).toHaveLength(1));
  expect(first.closedCount()).toBe(1);
});

test("without locks each tab leads for itself, and tells nobody of its stream", async () => {
  const first = openTab(undefined);
  const second = openTab(undefined);
  expect([first.streams, second.streams]).toEqual([[expect.anything()], [expect.anything()]]);
  first.streams[0]?.onUpdate(alive);
  expect(first.store.connection()).toBe("live");
  expect(second.store.connection()).toBe("connecting");
  first.leave();
  expect([first.closedCount(), second.closedCount()]).toEqual([1, 0]);
});
