import { mkdir, mkdtemp, readdir, rm, utimes } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { sweepTempFolders, tempRoot, withTempFolder } from "./index.ts";

test("a folder that this process works with is not swept, however old the clock calls it", async () => {
  const dataDir = await mkdtemp(path.join(os.tmpdir(), "atelier-temp-"));
  onTestFinished(() => rm(dataDir, { recursive: true }));
  const env = { ATELIER_DATA_DIR: dataDir };
  const root = tempRoot(env);
  const grow = (folder: string) => utimes(folder, new Date(0), new Date(0));
  await mkdir(path.join(root, "work-of-a-killed-process"), { recursive: true });
  await grow(path.join(root, "work-of-a-killed-process"));
  await withTempFolder(env, async (folder) => {
    // As after a night in which the machine slept.
    await grow(folder);
    await sweepTempFolders(env, 3_600_000);
    expect(await readdir(root)).toEqual([path.basename(folder)]);
  });
  expect(await readdir(root)).toEqual([]);
});
