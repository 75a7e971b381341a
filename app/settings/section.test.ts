import { QueryClient, QueryObserver } from "@tanstack/react-query";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { isStillRead, noteRead, whenRead } from "./section.tsx";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A part of the page that shows what is read under the key, for ever if nothing answers. */
function showPart(queries: QueryClient, key: string, answer: Promise<unknown> = new Promise(() => {})) {
  const part = new QueryObserver(queries, { queryKey: [key], queryFn: () => answer, gcTime: 1_000 });
  return part.subscribe(() => {});
}

test("the sections are shown once nothing is read for the first time", async () => {
  const queries = new QueryClient();
  const tell = vi.fn<() => void>();
  showPart(queries, "tags", Promise.resolve([]));
  await vi.advanceTimersByTimeAsync(1);
  whenRead(queries, true, tell);
  await vi.advanceTimersByTimeAsync(1);
  expect(tell).toHaveBeenCalledOnce();
});

test("a read that the page has not seen begin holds the sections for a while, not for ever", async () => {
  const queries = new QueryClient();
  const tell = vi.fn<() => void>();
  whenRead(queries, true, tell);
  const { promise, resolve } = Promise.withResolvers<unknown>();
  showPart(queries, "tags", promise);
  await vi.advanceTimersByTimeAsync(1);
  expect(tell).not.toHaveBeenCalled();
  resolve([]);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(tell).toHaveBeenCalled();
});

test("a page that is left, or renders anew, is told nothing by the look of before", async () => {
  const tell = vi.fn<() => void>();
  whenRead(new QueryClient(), true, tell)();
  whenRead(new QueryClient(), false, tell)();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(tell).not.toHaveBeenCalled();
});

test("the way back to the sections finds them at once while all of them is kept", async () => {
  const queries = new QueryClient();
  const leave = ["me", "tags", "links"].map((key) => showPart(queries, key, Promise.resolve([])));
  expect(isStillRead(queries)).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  noteRead(queries);
  expect(isStillRead(queries)).toBe(true);
  expect(isStillRead(new QueryClient())).toBe(false);
  leave[1]?.();
  expect(isStillRead(queries)).toBe(true);
  await vi.advanceTimersByTimeAsync(1_001);
  expect(isStillRead(queries)).toBe(false);
  showPart(queries, "tags");
  expect(isStillRead(queries)).toBe(false);
});
