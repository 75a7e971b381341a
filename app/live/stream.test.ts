import { expect, test, vi } from "vitest";
import { keepStream, type OpenStream } from "./stream.ts";

function openings() {
  const opened: { since: string | null; handlers: Parameters<OpenStream>[1]; closed: boolean }[] = [];
  const open: OpenStream = (since, handlers) => {
    const stream = { since, handlers, closed: false };
    opened.push(stream);
    return () => {
      stream.closed = true;
    };
  };
  return { opened, open };
}

test("a stream that ends, in order or not, is opened again where it stood", async () => {
  const { opened, open } = openings();
  let at: string | null = null;
  const onLost = vi.fn<() => void>();
  const close = keepStream({
    open,
    since: () => at,
    onUpdate: vi.fn<() => void>(),
    onOpen: vi.fn<() => void>(),
    onLost,
  });
  at = "2026-11-21T10:00:00.000Z";
  opened[0]?.handlers.onLost();
  opened[0]?.handlers.onLost();
  await vi.waitFor(() => expect(opened).toHaveLength(2));
  expect(opened.map(({ since }) => since)).toEqual([null, at]);
  expect(opened[0]?.closed).toBe(true);
  expect(onLost).toHaveBeenCalledOnce();
  close();
  expect(opened[1]?.closed).toBe(true);
});

test("a stream that was closed stays closed", () => {
  const { opened, open } = openings();
  const onLost = vi.fn<() => void>();
  const close = keepStream({
    open,
    since: () => null,
    onUpdate: vi.fn<() => void>(),
    onOpen: vi.fn<() => void>(),
    onLost,
  });
  close();
  opened[0]?.handlers.onLost();
  expect(onLost).not.toHaveBeenCalled();
  expect(opened).toHaveLength(1);
});
