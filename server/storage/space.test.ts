import { mkdir, mkdtemp, rm, statfs } from "node:fs/promises";
import type * as Files from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { parseConfig } from "../platform/index.ts";
import { readFreeSpace, requireFreeSpace } from "./index.ts";

vi.mock("node:fs/promises", async (original) => {
  const real = await original<typeof Files>();
  return { ...real, statfs: vi.fn<typeof real.statfs>(real.statfs) };
});

test.each([
  ["no inodes are left although bytes are free", { files: 6_000_000, ffree: 12 }, 12, false],
  ["many inodes are left", { files: 6_000_000, ffree: 5_000 }, 5_000, true],
  ["the file system has no fixed number of them", { files: 0, ffree: 0 }, null, true],
  ["its driver says none of many, which only a write shows", { files: 6_000_000, ffree: 0 }, null, true],
])("F30 a disk on which %s", async (_what, counts, freeFiles, isEnough) => {
  const folder = await mkdtemp(path.join(os.tmpdir(), "space-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  for (const name of ["files", "tmp"]) await mkdir(path.join(folder, name));
  const input = {
    env: { ATELIER_DATA_DIR: folder, S3_BUCKET: undefined, FUNCTION_SECONDS: undefined },
    config: parseConfig({ limits: { minFreeBytes: 1 } }),
  };
  const real = await statfs(folder);
  vi.mocked(statfs).mockResolvedValue(Object.assign(real, counts));
  expect(await readFreeSpace(input)).toMatchObject({ freeFiles, isEnough });
  const asked = requireFreeSpace(input).then(
    () => "has room",
    (error: { code?: string }) => error.code,
  );
  expect(await asked).toBe(isEnough ? "has room" : "storage_full");
});
