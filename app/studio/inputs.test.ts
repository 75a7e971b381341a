import { expect, test, vi } from "vitest";
import { readSample, resolveSlot } from "./inputs.tsx";

test("a sample over a network that swallows its answer is given up", async () => {
  const limit = new AbortController();
  vi.spyOn(AbortSignal, "timeout").mockReturnValue(limit.signal);
  vi.stubGlobal("fetch", (_address: string, init?: RequestInit) => {
    const { promise, reject } = Promise.withResolvers<Response>();
    init?.signal?.addEventListener("abort", () => reject(init.signal?.reason));
    return promise;
  });
  const isOver = vi.fn<() => void>();
  void readSample({ file: "hoodie.jpg" }).catch(isOver);
  limit.abort(new DOMException("too late", "TimeoutError"));
  await vi.waitFor(() => expect(isOver).toHaveBeenCalledOnce());
});

test("a page that says what is wrong is no sample", async () => {
  for (const status of [403, 404, 502]) {
    vi.stubGlobal("fetch", async () => new Response("<p>", { status }));
    await expect(readSample({ file: "hoodie.jpg" })).rejects.toThrow(`${status}`);
  }
  vi.stubGlobal("fetch", async () => new Response("hoodie", { headers: { "content-type": "image/jpeg" } }));
  const file = await readSample({ file: "hoodie.jpg" });
  expect([file.name, file.type, await file.text()]).toEqual(["hoodie.jpg", "image/jpeg", "hoodie"]);
});

test("a slot holds its stored picture unless that was deleted", () => {
  expect(resolveSlot({ storedId: "a", isGone: false, upload: undefined })).toEqual({
    imageId: "a",
    isFree: false,
  });
  expect(resolveSlot({ storedId: "a", isGone: true, upload: undefined })).toEqual({
    imageId: null,
    isFree: true,
  });
  expect(resolveSlot({ storedId: null, isGone: false, upload: undefined })).toEqual({
    imageId: null,
    isFree: true,
  });
});

test("an upload takes the slot: nothing can run with the picture it replaces", () => {
  for (const state of ["waiting", "sending", "done"] as const) {
    expect(resolveSlot({ storedId: "old", isGone: false, upload: { state } })).toEqual({
      imageId: null,
      isFree: false,
    });
  }
});

test("a failed upload leaves the slot to the next picture", () => {
  expect(resolveSlot({ storedId: "old", isGone: false, upload: { state: "failed" } })).toEqual({
    imageId: null,
    isFree: true,
  });
});
