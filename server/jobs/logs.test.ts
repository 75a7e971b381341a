import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { sql } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { addNode, addOwner, insertJob, localOffers, type TestOwner, testQueue } from "@atelier/testing/jobs";
import { countStatements } from "@atelier/testing/postgres";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { schema } from "../db/index.ts";
import { type Logger, newId, openLog } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { readAnyStory } from "./admin.ts";
import { type JobLogs, keepJobLogs, pruneLogs, readJobLogs, readNodeLogs } from "./logs.ts";
import { claim } from "./claimed.ts";
import { submit } from "./submit.ts";

let opened: TestServices;
let owner: TestOwner;
let nodeId: string;
let logDir: string;
let services: Services;
let kept: JobLogs;

beforeAll(async () => {
  // The lines go to the console as well.
  vi.spyOn(process.stdout, "write").mockReturnValue(true);
  logDir = await mkdtemp(path.join(os.tmpdir(), "atelier-log-"));
  opened = await createTestServices({ log: await openLogOf("worker") });
  owner = await addOwner(opened.services);
  nodeId = await addNode(opened.services);
});
afterAll(async () => {
  vi.restoreAllMocks();
  await opened.close();
  await rm(logDir, { recursive: true, force: true });
});
beforeEach(() => {
  ({ services } = opened);
  kept = keepJobLogs(services);
});
afterEach(() => kept.close());

function openLogOf(name: string): Promise<Logger> {
  return openLog({ env: { LOG_LEVEL: "debug", ATELIER_DATA_DIR: logDir }, name });
}

const addJobs = (count: number) =>
  Promise.all(Array.from({ length: count }, () => insertJob(services, { owner })));
const addJob = async () => (await addJobs(1))[0] ?? "";
const linesOf = (id: string) => readJobLogs(services, { id });

test("D12 what is logged about a job is found by its id and by the name of its node, with its data", async () => {
  const [id, other] = [await addJob(), await addJob()];
  const log = services.log.child({ jobId: id, nodeId });
  log.info({ outcome: "completed", durationMs: 12 }, "run ended");
  services.log.warn({ jobIds: [other, id] }, "bell not rung");
  services.log.info("a line of nobody");
  log.debug("too fine for the table");
  await kept.close();
  const [node] = await services.db.select().from(schema.nodes);
  const name = node?.name ?? "";
  const first = { jobId: id, number: 1, level: "info", process: "worker", node: name, message: "run ended" };
  const lines = await linesOf(id);
  expect(lines).toMatchObject([
    { ...first, data: { outcome: "completed", durationMs: 12 } },
    { jobId: id, number: 2, level: "warn", node: null, message: "bell not rung", data: {} },
  ]);
  expect(Math.abs(Date.parse(lines[0]?.at ?? "") - Date.now())).toBeLessThan(60_000);
  expect(await readNodeLogs(services, { name })).toEqual(lines.slice(0, 1));
  expect(await linesOf(other)).toMatchObject([{ message: "bell not rung" }]);
  expect((await readAnyStory(services, { id })).logs).toEqual(lines);
  await expect(linesOf(newId())).rejects.toMatchObject({ code: "not_found" });
  await expect(linesOf("no id")).rejects.toMatchObject({ code: "not_found" });
  await expect(readNodeLogs(services, { name: "nobody" })).rejects.toMatchObject({ code: "not_found" });
});

test("D12 lines appear by themselves while the process goes on", async () => {
  const id = await addJob();
  services.log.info({ jobId: id }, "one");
  await expect.poll(() => linesOf(id)).toHaveLength(1);
  services.log.info({ jobId: id }, "two");
  await expect.poll(() => linesOf(id)).toHaveLength(2);
});

test("D12 a hundred jobs cost two statements for all of their lines, and none when nothing is logged", async () => {
  const ids = await addJobs(100);
  const logAll = () => {
    for (const id of ids) services.log.info({ jobId: id }, "run ended");
    for (const id of ids) services.log.warn({ jobId: id }, "run failed");
  };
  const statements = await countStatements(async () => {
    logAll();
    await kept.close();
  });
  expect(statements).toBeLessThanOrEqual(2);
  expect(await services.db.$count(schema.jobLogs, sql`job_id = any(${sql.param(ids)}::uuid[])`)).toBe(200);
  const quiet = keepJobLogs(services);
  services.log.level = "error";
  const none = await countStatements(async () => {
    logAll();
    await quiet.close();
  });
  services.log.level = "debug";
  expect(none).toBe(0);
});

test("D12 two processes that log about one job at once lose no line and keep no more than 200", async () => {
  const id = await addJob();
  const another = { ...(await opened.openAnother()), log: await openLogOf("web") };
  const two = keepJobLogs(another);
  const logBoth = async (count: number) => {
    const open = [keepJobLogs(services), keepJobLogs(another)];
    for (let at = 0; at < count; at += 1)
      for (const { log } of [services, another]) log.info({ jobId: id, at }, "a line");
    await Promise.all(open.map((logs) => logs.close()));
  };
  await kept.close();
  await two.close();
  for (const rounds of [1, 2, 3, 4, 5]) {
    await logBoth(10);
    expect(await linesOf(id)).toHaveLength(20 * rounds);
  }
  await logBoth(150);
  const lines = await linesOf(id);
  expect(lines.map(({ number }) => number).toSorted((a, b) => a - b)).toEqual(
    Array.from({ length: 200 }, (_, at) => at + 1),
  );
});

test("D12 lines go with their job, and with old events once it has ended", async () => {
  const { jobs, jobLogs } = schema;
  const [removed = "", ended = "", open = ""] = await addJobs(3);
  for (const id of [removed, ended, open]) services.log.info({ jobId: id }, "old");
  await kept.close();
  const left = async () => {
    const rows = await services.db.select({ id: jobLogs.jobId }).from(jobLogs);
    return [removed, ended, open].filter((id) => rows.some((row) => row.id === id));
  };
  expect(await left()).toEqual([removed, ended, open]);
  await services.db.delete(jobs).where(sql`id = ${removed}`);
  expect(await left()).toEqual([ended, open]);
  await services.db
    .update(jobs)
    .set({ status: "failed", endedAt: new Date() })
    .where(sql`id = ${ended}`);
  await pruneLogs(services);
  expect(await left()).toEqual([ended, open]);
  await services.db.update(jobLogs).set({ createdAt: sql`now() - interval '31 days'` });
  await pruneLogs(services);
  expect(await left()).toEqual([open]);
});

test("D12 a line about a removed job, or with what PostgreSQL cannot store, keeps out no other", async () => {
  const id = await addJob();
  services.log.info({ jobId: newId() }, "gone");
  services.log.info({ jobId: id, text: "a\0b\ud83d" }, "odd");
  services.log.info({ jobId: id, text: "x".repeat(100_000) }, "long");
  await kept.close();
  expect(await linesOf(id)).toMatchObject([
    { message: "odd", data: { text: "a\ufffdb\ufffd" } },
    { message: "long", data: { isInLogFileOnly: true } },
  ]);
});

test("D12 no claim passes over a job whose lines are being stored", async () => {
  const { db } = services;
  await db.delete(schema.jobs);
  const id = await addJob();
  await db.update(schema.jobs).set({ status: "queued" });
  services.log.info({ jobId: id }, "accepted");
  const closing: Promise<void>[] = [];
  // As slow as an insert can be: the claim runs before its commit.
  await db.execute(sql`create function wait_here() returns trigger language plpgsql as $$
    begin perform pg_advisory_xact_lock(4711); return new; end $$`);
  await db.execute(
    sql`create trigger slow after insert on job_logs for each row execute function wait_here()`,
  );
  try {
    await db.transaction(async (tx) => {
      await tx.execute(sql`select pg_advisory_xact_lock(4711)`);
      closing.push(kept.close());
      const isWaiting = sql`
        select from pg_locks join pg_database d on d.oid = database and d.datname = current_database()
        where locktype = 'advisory' and not granted`;
      await expect.poll(async () => (await db.execute(isWaiting)).length).toBe(1);
      const claimed = await claim(services, { nodeId, queue: testQueue, offers: localOffers });
      expect(claimed).toMatchObject({ id });
    });
    await Promise.all(closing);
  } finally {
    await db.execute(sql`drop trigger slow on job_logs`);
    await db.execute(sql`drop function wait_here`);
  }
  expect(await linesOf(id)).toHaveLength(1);
});

describe("S9 D12 what people wrote", () => {
  test("stands in no stored line: prompt, metadata, session and parameters of a failed statement", async () => {
    await addNode(services, { queue: "gpu-high", needs: ["comfyui/t2i_sdxl"] });
    const request = {
      kind: "text_to_image",
      params: { prompt: "canary-prompt", negativePrompt: "canary-negative" },
      sessionId: "canary-session",
      metadata: { note: "canary-metadata" },
    };
    const { id } = await submit(services, request, { submitter: owner, idempotencyKey: "canary-key" });
    const failing = services.db.execute(sql`select ${"canary-parameter"}::text::int`);
    const err = await failing.catch((error: unknown) => error);
    services.log.warn({ jobId: id, err, code: "internal" }, "run failed");
    await kept.close();
    const lines = await linesOf(id);
    expect(lines.map(({ message }) => message)).toEqual(["job accepted", "run failed"]);
    const text = JSON.stringify(lines);
    expect(text).toMatch(/"code":"22P02"/);
    expect(text).not.toContain('"stack"');
    expect(/canary-[a-z]+/.exec(text)).toBeNull();
  });
});
