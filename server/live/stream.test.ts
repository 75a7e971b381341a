import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { addJob, addNode, addOwner, localOffers, type TestOwner, testQueue } from "@atelier/testing/jobs";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { ask, questionSource, type QuestionUpdate } from "../assistant/index.ts";
import { schema } from "../db/index.ts";
import { claim, jobSource, type JobsUpdate, persistProgress, start } from "../jobs/index.ts";
import type { Services } from "../services.ts";
import { type Alive, watch } from "./index.ts";

type Update = JobsUpdate | QuestionUpdate | Alive;

const sources = [jobSource, questionSource] as const;

let opened: TestServices;
/** A web process beside the one that works. */
let web: Services;
beforeAll(async () => {
  opened = await createTestServices();
  web = await opened.openAnother();
});
afterAll(() => opened.close());

/** What a browser of the owner is sent. */
function openStream(services: Services, ownerId: string) {
  const leaving = new AbortController();
  const stream = watch<JobsUpdate | QuestionUpdate>(services, sources, {
    ownerId,
    since: null,
    signal: leaving.signal,
  });
  return {
    next: async () => (await stream.next()).value as Update,
    close: async () => {
      leaving.abort();
      await stream.return(undefined);
    },
  };
}

function collect(services: Services, ownerId: string) {
  const stream = openStream(services, ownerId);
  const updates: Update[] = [];
  const read = async () => {
    for (let update = await stream.next(); update; update = await stream.next()) updates.push(update);
  };
  const ended = read();
  return {
    updates,
    close: async () => {
      await stream.close();
      await ended;
    },
  };
}

async function startJob(owner: TestOwner) {
  const { services } = opened;
  const nodeId = await addNode(services);
  const jobId = await addJob(services, { owner });
  await claim(services, { nodeId, queue: testQueue, offers: localOffers });
  const lease = { jobId, attempt: 1, nodeId };
  await start(services, lease);
  return lease;
}

async function heapBytes(): Promise<number> {
  setFlagsFromString("--expose-gc");
  const collectGarbage: unknown = runInNewContext("gc");
  if (typeof collectGarbage !== "function") throw new Error("no garbage collection");
  await new Promise((resolve) => setImmediate(resolve));
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

test("D10 a stream keeps none of 4,000 updates of 15 kB that were read", { timeout: 120_000 }, async () => {
  const { services } = opened;
  const owner = await addOwner(services);
  const { jobId } = await startJob(owner);
  const stream = openStream(web, owner.userId);
  const measured: number[] = [];
  let sentCount = 0;
  // Each a text of its own, as a preview is.
  const send = (at: number) =>
    services.hints.publish({
      type: "progress",
      progress: {
        jobId,
        attempt: 1,
        progress: at / 4_000,
        stage: "sampling",
        preview: `${at} ${Buffer.alloc(15_000, 97 + (at % 26)).toString("latin1")}`,
      },
    });
  let repeat: NodeJS.Timeout | undefined = setInterval(() => send(0), 100);
  for (;;) {
    const update = await stream.next();
    if (update.type !== "progress") continue;
    // Both processes are connected from now on.
    clearInterval(repeat);
    repeat = undefined;
    if (sentCount === 100 || sentCount === 4_000) measured.push(await heapBytes());
    if (sentCount === 4_000) break;
    sentCount += 1;
    send(sentCount);
  }
  await stream.close();
  const [before = 0, after = Infinity] = measured;
  expect(after - before).toBeLessThan(5_000_000);
});

test("D10 all streams of an owner get the same update object, so that it is serialised once", async () => {
  const { services } = opened;
  const owner = await addOwner(services);
  const lease = await startJob(owner);
  const streams = [1, 2, 3].map(() => collect(web, owner.userId));
  const has = (type: Update["type"]) => () =>
    streams.every(({ updates }) => updates.some((update) => update.type === type));
  await vi.waitUntil(has("snapshot"));
  await persistProgress(services, lease, { progress: 0.5, stage: "sampling" });
  await vi.waitUntil(has("jobs"), 5_000);
  await vi.waitUntil(() => {
    const progress = { jobId: lease.jobId, attempt: 1, progress: 0.6, stage: "sampling" };
    services.hints.publish({ type: "progress", progress });
    return has("progress")();
  }, 5_000);
  for (const type of ["jobs", "progress"] as const) {
    const found = streams.map(({ updates }) => updates.findLast((update) => update.type === type));
    expect(new Set(found).size).toBe(1);
  }
  await Promise.all(streams.map((stream) => stream.close()));
});

test("D10 a reader that falls behind gets each row once in its newest state, and the words of an answer in one piece", async () => {
  const { services } = opened;
  const owner = await addOwner(services);
  const lease = await startJob(owner);
  const { runId } = await ask(services, { ownerId: owner.userId, text: "hello" });
  const stream = openStream(web, owner.userId);
  const beside = collect(web, owner.userId);
  // The slow reader has taken the first rows alone.
  expect(await stream.next()).toMatchObject({ type: "snapshot" });
  expect(await stream.next()).toMatchObject({ type: "runs" });
  const wordsOf = (updates: readonly Update[]) =>
    updates.flatMap((update) => (update.type === "answer" ? [update.text] : [])).join("");
  await vi.waitUntil(() => {
    services.hints.publish({ type: "answer", words: { runId, attempt: 1, at: 0, text: "One " } });
    return wordsOf(beside.updates) !== "";
  }, 5_000);
  for (const [at, text] of [
    [4, "two "],
    [8, "three"],
  ] as const)
    services.hints.publish({ type: "answer", words: { runId, attempt: 1, at, text } });
  for (const progress of [0.2, 0.4, 0.6])
    await persistProgress(services, lease, { progress, stage: "sampling" });
  await vi.waitUntil(
    () =>
      wordsOf(beside.updates).endsWith("two three") &&
      beside.updates.some(
        (update) => update.type === "jobs" && update.jobs.some(({ progress }) => progress === 0.6),
      ),
    5_000,
  );
  const late = [await stream.next(), await stream.next()];
  expect(late).toContainEqual({ type: "answer", runId, attempt: 1, at: 0, text: "One two three" });
  expect(late.flatMap((update) => (update.type === "jobs" ? update.jobs : []))).toMatchObject([
    { progress: 0.6 },
  ]);
  // A page that is opened now gets the words so far.
  const newcomer = collect(web, owner.userId);
  await vi.waitUntil(() => wordsOf(newcomer.updates) === "One two three", 5_000);
  await Promise.all([stream.close(), beside.close(), newcomer.close()]);
});

/** The first rows of a stream of jobs, and its time. */
async function readFirst(ownerId: string, since: Date | null, source = jobSource) {
  const stream = watch<JobsUpdate>(web, [source], { ownerId, since, signal: new AbortController().signal });
  const value = (await stream.next()).value as JobsUpdate | Alive | undefined;
  await stream.return(undefined);
  if (value?.type !== "snapshot") throw new Error("no snapshot");
  return { at: Date.parse(value.at), ids: value.jobs.map(({ id }) => id) };
}

test("a page whose last update lies ahead, as the clock was set back since, hears what ended meanwhile", async () => {
  const owner = await addOwner(opened.services);
  const { jobId } = await startJob(owner);
  await opened.services.db
    .update(schema.jobs)
    .set({ status: "cancelled", endedAt: sql`now() - interval '10 seconds'` })
    .where(eq(schema.jobs.id, jobId));
  const aheadMs = Date.now() + 3_600_000;
  expect((await readFirst(owner.userId, new Date(aheadMs))).ids).toEqual([jobId]);
  expect((await readFirst(owner.userId, new Date())).ids).toEqual([]);
});

test("the times of a stream do not follow the clock of its process when that is set", async () => {
  const { userId } = await addOwner(opened.services);
  let aheadMs = 0;
  const { now } = Date;
  const clock = vi.spyOn(Date, "now").mockImplementation(() => now() + aheadMs);
  const stepping: typeof jobSource = {
    ...jobSource,
    readFirst: (...input) => {
      aheadMs = 365 * 86_400_000;
      return jobSource.readFirst(...input);
    },
  };
  const { at } = await readFirst(userId, null, stepping).finally(() => clock.mockRestore());
  expect(Math.abs(at - Date.now())).toBeLessThan(60_000);
});

test("O1 a process looks at the rows of all open streams by one statement each, and finds what no hint told", async () => {
  const statements: string[] = [];
  const { services } = opened;
  const count = (name: string) => statements.push(name);
  const counted = sources.map((source) => ({
    ...source,
    readMarks: (...input: Parameters<typeof source.readMarks>) => {
      count(source.name);
      return source.readMarks(...input);
    },
  }));
  const own = await opened.openAnother();
  const owners = await Promise.all(Array.from({ length: 30 }, () => addOwner(services)));
  const stop = new AbortController();
  const told = new Map<string, Update[]>();
  const streams = owners.map(async ({ userId }) => {
    const updates: Update[] = [];
    told.set(userId, updates);
    const input = { ownerId: userId, since: null, signal: stop.signal };
    for await (const update of watch<JobsUpdate | QuestionUpdate>(own, counted, input)) updates.push(update);
  });
  const beganMs = performance.now();
  await vi.waitUntil(() => statements.length >= 6, { timeout: 20_000 });
  // A look of each stream by itself would be sixty statements a second.
  expect(performance.now() - beganMs).toBeGreaterThan(1_500);

  const [first] = owners;
  const ownerId = first?.userId ?? "";
  const { runId } = await ask(services, { ownerId, text: "hello" });
  const statusesTold = () =>
    (told.get(ownerId) ?? []).flatMap((update) =>
      update.type === "runs" ? update.runs.map(({ status }) => status) : [],
    );
  await vi.waitUntil(() => statusesTold().includes("new"), { timeout: 20_000 });
  // Nothing tells of this change.
  await services.db
    .update(schema.assistantRuns)
    .set({ status: "failed", revision: 9, endedAt: new Date() })
    .where(eq(schema.assistantRuns.id, runId));
  await vi.waitUntil(() => statusesTold().includes("failed"), { timeout: 20_000 });
  const others = owners.slice(1).flatMap(({ userId }) => told.get(userId) ?? []);
  expect(others.filter(({ type }) => type !== "snapshot" && type !== "alive")).toEqual([]);
  stop.abort();
  await Promise.all(streams);
});
