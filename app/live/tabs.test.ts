import type { JobsUpdate } from "@atelier/server/jobs";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createLiveStore } from "./store.ts";
import { startLive } from "./tabs.ts";
import type { OpenStream } from "./stream.ts";

const at = "2026-01-01T00:00:00.000Z";
const alive: JobsUpdate = { type: "alive", at };
const leaves: (() => void)[] = [];

// The time for an answer passes with the looks of a waiting test, so not while the process stands still.
beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => {
  vi.useRealTimers();
  for (const leave of leaves.splice(0)) leave();
});

/** A page as it is seen, or not. */
function openPage(visibilityState: DocumentVisibilityState = "visible") {
  return Object.assign(new EventTarget(), { visibilityState });
}

/** What is left of a tab that the browser has suspended: its lock. */
function suspendLeader() {
  let isStolen = false;
  const end = Promise.withResolvers<void>();
  navigator.locks.request("atelier-live", () => end.promise).catch(() => (isStolen = true));
  leaves.push(() => end.resolve());
  return { isStolen: () => isStolen };
}

/** A tab whose stream is spoken for by the test. */
function openTab(locks: LockManager | undefined, page = openPage()) {
  const store = createLiveStore();
  const streams: Parameters<OpenStream>[1][] = [];
  let closedCount = 0;
  const open: OpenStream = (_since, handlers) => {
    streams.push(handlers);
    return () => void (closedCount += 1);
  };
  const leave = startLive({ store, open, locks, page });
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

test("D7 a tab that is seen takes the lead from one that is suspended, which follows when it wakes", async () => {
  const suspended = suspendLeader();
  const first = openTab(navigator.locks);
  await vi.waitFor(() => expect(first.streams).toHaveLength(1), { timeout: 10_000 });
  await vi.waitFor(() => expect(suspended.isStolen()).toBe(true));
  first.streams[0]?.onUpdate(alive);
  const second = openTab(navigator.locks);
  await vi.waitFor(() => expect(second.store.state().connection).toBe("live"));
  // Suspended in its turn, it loses the lead as well.
  const end = Promise.withResolvers<void>();
  const stolen = navigator.locks.request("atelier-live", { steal: true }, () => end.promise);
  await vi.waitFor(() => expect(first.closedCount()).toBe(1));
  end.resolve();
  await stolen;
  await vi.waitFor(() => expect(first.streams.length + second.streams.length).toBe(2));
  expect(first.streams.length - first.closedCount() + second.streams.length).toBe(1);
});

test("D7 a tab that is not seen leaves the lead to the other, and asks for it once it is seen", async () => {
  const suspended = suspendLeader();
  const page = openPage("hidden");
  const tab = openTab(navigator.locks, page);
  const other = openTab(navigator.locks);
  await vi.waitFor(() => expect(other.streams).toHaveLength(1), { timeout: 10_000 });
  await vi.waitFor(() => expect(suspended.isStolen()).toBe(true));
  expect(tab.streams).toEqual([]);
  other.leave();
  await vi.waitFor(() => expect(tab.streams).toHaveLength(1));
  tab.leave();
  const next = suspendLeader();
  const late = openTab(navigator.locks, page);
  page.visibilityState = "visible";
  page.dispatchEvent(new Event("visibilitychange"));
  await vi.waitFor(() => expect(late.streams).toHaveLength(1), { timeout: 10_000 });
  await vi.waitFor(() => expect(next.isStolen()).toBe(true));
});

test("D7 a browser that refuses locks gives each tab a stream of its own", async () => {
  const refused = new DOMException("Access to the Locks API is denied in this context.", "SecurityError");
  const locks = Object.assign(Object.create(navigator.locks), { request: () => Promise.reject(refused) });
  const tab = openTab(locks);
  await vi.waitFor(() => expect(tab.streams).toHaveLength(1));
  tab.leave();
  expect(tab.closedCount()).toBe(1);
});
