import { Readable } from "node:stream";
import sharp from "sharp";
import { afterEach, expect, test, vi } from "vitest";
import { openLocalDisk } from "../storage/index.ts";
import { pictureForModel, plainPicture } from "./undescribed.ts";

const disk = openLocalDisk({ ATELIER_DATA_DIR: "/dev/null" });
const picture = { storageKey: "a/b", mime: "image/jpeg" };
const never = new AbortController().signal;
const read = (signal = never) => pictureForModel(disk, picture, { longestPx: 100, signal });
const opens = (stream: Readable) => vi.spyOn(disk, "open").mockResolvedValue({ stream, sizeBytes: 1 });
afterEach(() => void vi.restoreAllMocks());

/** A stream that ends with an error after these bytes. */
const cutAfter = (bytes: Buffer) =>
  Readable.from(
    (async function* () {
      yield bytes;
      throw new Error("aborted");
    })(),
  );

test("a stream of the store that is cut is a failure of the store, and no matter of the picture", async () => {
  const bytes = await plainPicture("#dc1e1e");
  opens(cutAfter(bytes.subarray(0, 200)));
  await expect(read()).rejects.toMatchObject({ code: "storage_unavailable" });
  opens(cutAfter(bytes));
  await expect(read()).rejects.toMatchObject({ code: "storage_unavailable" });
});

test("want of memory is no matter of the picture", async () => {
  opens(Readable.from([await plainPicture("#dc1e1e")]));
  vi.spyOn(sharp.prototype, "toBuffer").mockRejectedValue(new Error("VipsJpeg: out of memory"));
  await expect(read()).rejects.toThrow("out of memory");
});

test("a preview that is damaged, too large or not there gives no picture", async () => {
  opens(Readable.from([Buffer.from("no picture")]));
  expect(await read()).toBeNull();
  const large = Readable.from(Array.from({ length: 9 }, () => Buffer.alloc(1024 ** 2)));
  opens(large);
  expect(await read()).toBeNull();
  expect(large.destroyed).toBe(true);
  vi.spyOn(disk, "open").mockResolvedValue(null);
  expect(await read()).toBeNull();
});

test("a store that is silent is left at once by an abort, and what it opens late is closed", async () => {
  const { promise, resolve } = Promise.withResolvers<Awaited<ReturnType<typeof disk.open>>>();
  vi.spyOn(disk, "open").mockReturnValue(promise);
  const stop = new AbortController();
  const reading = read(stop.signal);
  stop.abort(new Error("too late"));
  await expect(reading).rejects.toThrow("too late");
  const stream = Readable.from([Buffer.from("late")]);
  resolve({ stream, sizeBytes: 4 });
  await vi.waitFor(() => expect(stream.destroyed).toBe(true));
  opens(new Readable({ read: () => undefined }));
  const within = new AbortController();
  const hanging = read(within.signal);
  setImmediate(() => within.abort(new Error("over")));
  await expect(hanging).rejects.toThrow("over");
});
