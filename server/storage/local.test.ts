import { mkdir, mkdtemp, open, rm, symlink, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { putAll } from "./disk.ts";
import { openLocalDisk } from "./index.ts";
import { LocalDriver } from "./local.ts";

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

/** The keys of each page, with what happens between two of them. */
async function listPages(
  { prefix = "users", pageSize = 3 } = {},
  between: (pages: readonly string[][]) => Promise<void> = async () => undefined,
): Promise<string[][]> {
  const driver = new LocalDriver(folder, pageSize);
  const pages: string[][] = [];
  for (let token: string | undefined; ;) {
    const { objects, next } = await driver.listPage(prefix, token);
    pages.push(objects.map(({ key }) => key));
    if (next === undefined) return pages;
    token = next;
    await between(pages);
  }
}

async function putKeys(keys: readonly string[]): Promise<void> {
  for (const key of keys) {
    await mkdir(path.join(folder, path.dirname(key)), { recursive: true });
    await writeFile(path.join(folder, key), key);
  }
}

/** Names that sort differently with a slash behind them, and pictures of several files. */
const keys = [
  "users/a-b/0/original",
  "users/a-b/0/preview",
  "users/a.txt",
  "users/a/0/original",
  "users/a/0/preview",
  "users/a/0/thumbnail",
  "users/a/1/original",
  "users/a0",
  "users/b/2/deep/er/file",
  "users/b/2/original",
  "users/ö/3/original",
];

test.each([1, 2, 3, 5, 11, 12, 100])(
  "pages of %i files are bounded, complete and in the order of the keys",
  async (pageSize) => {
    await putKeys(keys.toReversed());
    await putKeys(["jobs/x/1/0/original", "users2/file"]);
    for (const empty of ["users/a/00", "users/aa", "users/c"]) await mkdir(path.join(folder, empty));
    await symlink(path.join(folder, "jobs"), path.join(folder, "users/link"));
    const pages = await listPages({ pageSize });
    expect(pages.flat()).toEqual(keys);
    expect(pages.slice(0, -1).every(({ length }) => length === pageSize)).toBe(true);
    expect(pages.at(-1)?.length).toBeLessThanOrEqual(pageSize);
  },
);

test("nothing, a file and folders without files have one empty page", async () => {
  expect(await listPages()).toEqual([[]]);
  await mkdir(path.join(folder, "users/a/b"), { recursive: true });
  for (const more of ["users/c", "users/d", "users/e", "users/f"]) await mkdir(path.join(folder, more));
  expect(await listPages()).toEqual([[]]);
  await putKeys(["users/a/file"]);
  expect(await listPages({ prefix: "users/a/file" })).toEqual([[]]);
});

test("files that stay are listed once, whatever comes and goes between two pages", async () => {
  const stay = Array.from({ length: 30 }, (_, at) => `users/a/${String(at).padStart(3, "0")}/original`);
  const go = stay.map((key) => key.replace("original", "passing"));
  await putKeys([...stay, ...go]);
  const pages = await listPages({ pageSize: 4 }, async (before) => {
    const last = before.at(-1)?.at(-1) ?? "";
    // The picture in which the page ended, and what stands behind it.
    await rm(path.join(folder, path.dirname(last), "passing"), { force: true });
    await rm(path.join(folder, go.at(-before.length) ?? ""), { force: true });
    await putKeys([`users/0/${before.length}`, `users/a/${before.length}/new`]);
  });
  const listed = pages.flat();
  expect(listed.filter((key) => key.endsWith("original"))).toEqual(stay);
  expect(new Set(listed).size).toBe(listed.length);
  expect(listed).toEqual(listed.toSorted());
});
