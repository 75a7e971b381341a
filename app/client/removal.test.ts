import { expect, test, vi } from "vitest";
import { createRemovals } from "./removal.ts";

type Toast = Parameters<Parameters<typeof createRemovals>[0]>[0];

function start() {
  const toasts: Toast[] = [];
  const removals = createRemovals((toast) => toasts.push(toast));
  const remove = (id: string, send = vi.fn<() => Promise<void>>(() => Promise.resolve())) => {
    const onError = vi.fn<(error: unknown) => void>();
    const list = Promise.withResolvers<void>();
    const onSettled = () => list.promise;
    removals.defer({ id, title: id, undoLabel: "Undo", send, onSettled, onError });
    return { send, onError, readList: list.resolve };
  };
  return { removals, remove, toast: (at: number) => toasts[at] };
}

test("what is removed is hidden at once, asked of the server with the end of its toast, and hidden until the list was read", async () => {
  const { removals, remove, toast } = start();
  const { send, readList } = remove("a");
  expect([...removals.hidden()]).toEqual(["a"]);
  expect(send).not.toHaveBeenCalled();
  toast(0)?.onClose?.();
  expect(send).toHaveBeenCalledOnce();
  await Promise.resolve();
  expect([...removals.hidden()]).toEqual(["a"]);
  readList();
  await expect.poll(() => removals.hidden().size).toBe(0);
});

test("Undo brings it back, and the end of the toast then asks nothing", () => {
  const { removals, remove, toast } = start();
  const { send } = remove("a");
  remove("b");
  toast(0)?.onUndo();
  toast(0)?.onClose?.();
  removals.sendAll();
  expect([...removals.hidden()]).toEqual(["b"]);
  expect(send).not.toHaveBeenCalled();
});

test("a page that is left asks for all of them once, and a refusal is told and shows the thing again", async () => {
  const { removals, remove, toast } = start();
  const refused = remove(
    "a",
    vi.fn<() => Promise<void>>(() => Promise.reject(new Error("away"))),
  );
  const other = remove("b");
  removals.sendAll();
  toast(1)?.onClose?.();
  expect([refused.send.mock.calls.length, other.send.mock.calls.length]).toEqual([1, 1]);
  refused.readList();
  await expect.poll(() => [...removals.hidden()]).toEqual(["b"]);
  expect(refused.onError).toHaveBeenCalledOnce();
});
