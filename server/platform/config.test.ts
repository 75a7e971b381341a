import { mkdtemp, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { loadConfigOr, usualConfigFile } from "./config.ts";

let folder = "";

beforeAll(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), "atelier-config-"));
  vi.spyOn(process, "cwd").mockReturnValue(folder);
});
afterAll(async () => {
  vi.restoreAllMocks();
  await rm(folder, { recursive: true, force: true });
});

const builtIn = { limits: { openJobs: 7 } };
const openJobsOf = async (file: string) => (await loadConfigOr(file, builtIn)).limits.openJobs;
const textOf = (openJobs: number) => `export default { limits: { openJobs: ${openJobs} } };`;

test("A2 where the usual file is not there, as in a function, what was built in counts", async () => {
  expect(await openJobsOf(usualConfigFile)).toBe(7);
});

test("A2 the file counts where it is there, and a file of another name must be there", async () => {
  const own = path.join(folder, "own.config.ts");
  await expect(openJobsOf(own)).rejects.toThrow(/own\.config/);
  await writeFile(own, textOf(8));
  expect(await openJobsOf(own)).toBe(8);
  await writeFile(path.join(folder, usualConfigFile), textOf(9));
  expect(await openJobsOf(usualConfigFile)).toBe(9);
});
