import { mkdtemp, open, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { putAll } from "./disk.ts";
import { openLocalDisk } from "./index.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), "atelier-local-"));
});
afterEach(async () => {
  vi.restoreAllMocks();
  await rm(folder, { recursive: true, force: true });
});

/** A file system that answers the flush of a folder with an error. */
async function refuseFlush(code: string): Promise<void> {
  const handle = await open(folder, "r");
  const kind = Object.getPrototypeOf(handle) as typeof handle;
  await handle.close();
  vi.spyOn(kind, "sync").mockImplementation(async function sync(this: typeof handle) {
    if ((await this.stat()).isDirectory()) throw Object.assign(new Error(code), { code });
    await this.datasync();
  });
}

const objects = [{ key: "users/a/one", bytes: Buffer.from("one"), mime: "image/png" }];

test.each(["EINVAL", "ENOTSUP", "EPERM", "ENOSYS"])(
  "A5 a picture is stored on a share that flushes no folders (%s)",
  async (code) => {
    await refuseFlush(code);
    const disk = openLocalDisk({ ATELIER_DATA_DIR: folder });
    await putAll(disk, objects);
    expect(Buffer.from(await disk.getBytes("users/a/one"))).toEqual(Buffer.from("one"));
  },
);

test.each(["EIO", "ENOSPC"])(
  "A5 a folder that could not be flushed for its disk is a failure (%s)",
  async (code) => {
    await refuseFlush(code);
    await expect(putAll(openLocalDisk({ ATELIER_DATA_DIR: folder }), objects)).rejects.toMatchObject({
      code: "storage_unavailable",
    });
  },
);
