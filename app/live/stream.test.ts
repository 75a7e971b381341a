import type { LiveUpdate } from "@atelier/server/api";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { keepStream, type OpenStream } from "./stream.ts";

type Handlers = Parameters<OpenStream>[1];

interface OpenedStream {
  readonly since: string | null;
  readonly handlers: Handlers;
  readonly isBrief: boolean;
  isClosed: boolean;
}

const startAt = "2026-01-01T00:00:00.000Z";

/** Streams that the test itself speaks for and cuts. */
function createSource() {
  const streams: OpenedStream[] = [];
  let at: string | null = null;
  const updates: LiveUpdate[] = [];
  const onLost = vi.fn<() => void>();
  const close = keepStream({
    open: (since, handlers, isBrief) => {
      const stream: OpenedStream = { since, handlers, isBrief, isClosed: false };
      streams.push(stream);
      return () => void (stream.isClosed = true);
    },
    since: () => at,
    onOpen: () => undefined,
    onLost,
    onUpdate: (update) => {
      updates.push(update);
      if ("at" in update && update.type !== "answer") at = update.at;
    },
  });
  const last = () => streams.at(-1) as OpenedStream;
  return { streams, updates, onLost, close, last };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("D7 F33 fifty cuts: each time one new stream, from the moment of the last update", () => {
  const source = createSource();
  expect(source.last().since).toBeNull();
  for (let cut = 1; cut <= 50; cut += 1) {
    const at = new Date(Date.parse(startAt) + cut).toISOString();
    source.last().handlers.onUpdate({ type: "alive", at });
    source.last().handlers.onLost();
    // A connection may report one loss twice: as an error and as an end.
    source.last().handlers.onLost();
    expect(source.last().isClosed).toBe(true);
    vi.advanceTimersByTime(300);
    expect(source.streams).toHaveLength(cut + 1);
    expect(source.last().since).toBe(at);
    expect(source.onLost).toHaveBeenCalledTimes(cut);
  }
  source.close();
  expect(source.last().isClosed).toBe(true);
});

test("a server that stays away is asked ever more rarely, at least every five seconds, and often again after its return", () => {
  const source = createSource();
  for (const waitMs of [300, 600, 1_200, 2_400, 4_800, 5_000, 5_000]) {
    const known = source.streams.length;
    source.last().handlers.onLost();
    vi.advanceTimersByTime(waitMs - 1);
    expect(source.streams).toHaveLength(known);
    vi.advanceTimersByTime(1);
    expect(source.streams).toHaveLength(known + 1);
  }
  source.last().handlers.onUpdate({ type: "alive", at: startAt });
  source.last().handlers.onLost();
  const known = source.streams.length;
  vi.advanceTimersByTime(300);
  expect(source.streams).toHaveLength(known + 1);
});

test("after its close nothing is opened any more, whether a stream stood or was being waited for", () => {
  const standing = createSource();
  standing.close();
  expect(standing.last().isClosed).toBe(true);
  standing.last().handlers.onLost();
  expect(standing.onLost).not.toHaveBeenCalled();
  const waiting = createSource();
  waiting.last().handlers.onLost();
  waiting.close();
  vi.advanceTimersByTime(60_000);
  expect([standing.streams.length, waiting.streams.length]).toEqual([1, 1]);
});

test("where nothing of a stream comes before its end the next ones are brief, until one comes as it is sent", () => {
  const source = createSource();
  vi.advanceTimersByTime(8_000);
  expect([source.last().isBrief, source.last().isClosed]).toEqual([false, true]);
  vi.advanceTimersByTime(300);
  for (let brief = 1; brief <= 3; brief += 1) {
    expect(source.last().isBrief).toBe(true);
    vi.advanceTimersByTime(1_200);
    source.last().handlers.onOpen();
    source.last().handlers.onUpdate({ type: "alive", at: startAt });
    source.last().handlers.onLost();
    vi.advanceTimersByTime(300);
    expect(source.streams).toHaveLength(2 + brief);
  }
  source.last().handlers.onOpen();
  source.last().handlers.onUpdate({ type: "alive", at: startAt });
  vi.advanceTimersByTime(1_000);
  source.last().handlers.onLost();
  vi.advanceTimersByTime(300);
  expect(source.last().isBrief).toBe(false);
  source.last().handlers.onOpen();
  vi.advanceTimersByTime(600_000);
  expect(source.last().isClosed).toBe(false);
  source.close();
});

test("a stream that is refused stays long, and a stream that was closed is not missed", () => {
  const refused = createSource();
  for (let each = 0; each < 4; each += 1) {
    refused.last().handlers.onLost();
    vi.advanceTimersByTime(5_000);
    expect(refused.last().isBrief).toBe(false);
  }
  const closed = createSource();
  closed.close();
  vi.advanceTimersByTime(60_000);
  expect([closed.streams.length, closed.onLost.mock.calls.length]).toEqual([1, 0]);
});
