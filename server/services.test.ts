import { readdir } from "node:fs/promises";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { eq } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { addNode, addOwner, insertJob, readJob, type TestOwner } from "@atelier/testing/jobs";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { schema } from "./db/index.ts";
import { keepJobLogs, submit } from "./jobs/index.ts";
import { openLog } from "./platform/index.ts";
import type { Services } from "./services.ts";
import { requireFreeSpace, sweepTempFolders, withTempFolder } from "./storage/index.ts";

const FUNCTION_SECONDS = 60;

const printed: string[] = [];
let opened: TestServices;
let services: Services;
let owner: TestOwner;
let kept: Promise<unknown>[] = [];
let jobLogs: ReturnType<typeof keepJobLogs> | null = null;

beforeAll(async () => {
  vi.spyOn(process.stdout, "write").mockImplementation((line) => printed.push(String(line)) > 0);
  const log = await openLog({
    env: { LOG_LEVEL: "info", ATELIER_DATA_DIR: "", FUNCTION_SECONDS },
    name: "web",
  });
  opened = await createTestServices({ backend: "redis", log, keepAlive: (work) => void kept.push(work) });
  services = { ...opened.services, env: { ...opened.services.env, FUNCTION_SECONDS } };
  owner = await addOwner(services);
});
afterEach(async () => {
  await jobLogs?.close();
  jobLogs = null;
});
afterAll(async () => {
  vi.restoreAllMocks();
  await opened.close();
});

/** Waits as a platform does before it freezes a process: for what was handed over, and what that handed over. */
async function waitAsPlatform(): Promise<void> {
  while (kept.length > 0) await Promise.all(kept.splice(0));
}

const request = () => ({ kind: "upscale", inputs: { image: owner.imageId } });

test("A3 a function is not frozen before the bell of its job has rung", async () => {
  await addNode(services, { slots: 1 });
  const rung = Promise.withResolvers<void>();
  const ring = vi.spyOn(services.bells, "ring").mockReturnValueOnce(rung.promise);
  const { id } = await submit(services, request(), { submitter: owner });
  const frozen = waitAsPlatform().then(() => "frozen");
  // Long enough for everything else that the job starts.
  expect(await Promise.race([frozen, sleep(300, "awake")])).toBe("awake");
  rung.resolve();
  await frozen;
  expect(ring).toHaveBeenCalledTimes(1);
  expect(await readJob(services, id)).toMatchObject({ status: "queued" });
});

test("A3 a function is not frozen before the log lines of a job are stored", async () => {
  const id = await insertJob(services, { owner });
  jobLogs = keepJobLogs(services);
  services.log.info({ jobId: id }, "job accepted");
  await waitAsPlatform();
  expect(await services.db.$count(schema.jobLogs, eq(schema.jobLogs.jobId, id))).toBe(1);
});

test("A3 work after an answer that fails is logged and harms nobody", async () => {
  printed.length = 0;
  services.later(Promise.reject(new Error("no")));
  await waitAsPlatform();
  expect(printed).toEqual([expect.stringContaining("work after an answer failed")]);
});

test("A3 a function keeps its temporary files in the platform's folder, and needs little room there", async () => {
  const { env, config } = services;
  await withTempFolder(env, async (folder) => {
    expect(path.basename(folder)).toMatch(/^atelier-work-/);
    expect(folder.startsWith(env.ATELIER_DATA_DIR)).toBe(false);
    await sweepTempFolders(env, 60_000);
    expect(await readdir(path.dirname(folder))).toContain(path.basename(folder));
  });
  const full = { ...config, limits: { ...config.limits, minFreeBytes: Number.MAX_SAFE_INTEGER } };
  await requireFreeSpace({ env, config: full });
  const server = { ...env, FUNCTION_SECONDS: undefined };
  await expect(requireFreeSpace({ env: server, config: full })).rejects.toMatchObject({
    code: "storage_full",
  });
});
