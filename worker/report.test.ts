import { randomBytes } from "node:crypto";
import { mergeGuest } from "@atelier/server/accounts";
import {
  claim,
  persistProgress,
  start,
  jobSource,
  streamEvents,
  type JobsUpdate,
  type Lease,
} from "@atelier/server/jobs";
import { watch } from "@atelier/server/live";
import type { Services } from "@atelier/server/services";
import { forBackendSuites } from "@atelier/testing/cases";
import {
  addJob,
  addNode,
  addOwner,
  localOffers,
  readJob,
  testQueue,
  type TestOwner,
} from "@atelier/testing/jobs";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import pg from "pg";
import sharp from "sharp";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import type { MakePreview } from "./engines/index.ts";
import { createReport, hearWatchers, type Report } from "./report.ts";

type Progress = Extract<JobsUpdate, { type: "progress" }>;

/** As noisy as an early step of a sampler: one colour per cell of 8 pixels, in the size that workers send. */
function makeNoise(): Promise<Buffer> {
  const cells = { width: 48, height: 48, channels: 3 as const };
  return sharp(randomBytes(48 * 48 * 3), { raw: cells })
    .resize(384, 384, { kernel: "linear" })
    .jpeg({ quality: 70 })
    .toBuffer();
}

const asDataUrl = (jpeg: Buffer) => `data:image/jpeg;base64,${jpeg.toString("base64")}`;

forBackendSuites("on %s", (backend) => {
  let opened: TestServices;
  /** Of a worker, and of two web processes. */
  let processes: readonly [Services, Services, Services];
  let owner: TestOwner;
  let lease: Lease;
  let report: Report;
  let noise: Buffer;
  const closing: (() => void)[] = [];

  beforeAll(async () => {
    opened = await createTestServices({ backend });
    processes = [opened.services, await opened.openAnother(), await opened.openAnother()];
    noise = await makeNoise();
    await untilConnected(processes);
  });
  afterAll(() => opened.close());
  beforeEach(async () => {
    owner = await addOwner(opened.services);
    lease = await startJob();
    report = createReport(opened.services, lease);
    closing.push(() => report.end());
  });
  afterEach(() => {
    for (const close of closing.splice(0)) close();
  });

  /** No watch and no wait of a story ends by itself, however long the machine stands still. */
  function stopClock(): void {
    const clock = vi.spyOn(performance, "now").mockReturnValue(performance.now());
    closing.push(() => clock.mockRestore());
  }

  async function startJob(): Promise<Lease> {
    const { services } = opened;
    const nodeId = await addNode(services);
    const jobId = await addJob(services, { owner });
    const job = await claim(services, { nodeId, queue: testQueue, offers: localOffers });
    expect(job?.id).toBe(jobId);
    const started = { jobId, attempt: 1, nodeId };
    await start(services, started);
    return started;
  }

  /** What a browser of the user is sent by this web process. */
  function follow(web: Services, userId: string) {
    const leaving = new AbortController();
    const updates: JobsUpdate[] = [];
    const read = async () => {
      const input = { ownerId: userId, since: null, signal: leaving.signal };
      for await (const update of watch(web, [jobSource], input)) updates.push(update);
    };
    const ended = read();
    closing.push(() => leaving.abort());
    return {
      leave: async () => {
        leaving.abort();
        await ended;
      },
      isOpen: () => updates.length > 0,
      progress: () => updates.filter((update): update is Progress => update.type === "progress"),
      previews: () => updates.flatMap((update) => (update.type === "progress" ? (update.preview ?? []) : [])),
    };
  }

  test("A12 a preview of real size arrives, and progress after it does not carry it again", async () => {
    stopClock();
    const [, web] = processes;
    const seen = follow(web, owner.userId);
    report.progress(0.3, "sampling");
    report.preview(() => Promise.resolve(noise));
    const expected = asDataUrl(noise);
    expect(expected.length).toBeGreaterThan(8_000);
    await vi.waitUntil(() => seen.previews().length > 0, 5_000);
    report.progress(0.6, "sampling");
    await vi.waitUntil(() => seen.progress().some(({ progress }) => progress === 0.6), 5_000);
    expect(seen.previews()).toEqual([expected]);
  });

  test("A12 a reader who comes late gets the newest preview, also from another web process", async () => {
    const [, web, otherWeb] = processes;
    const first = follow(web, owner.userId);
    const make = vi.fn<MakePreview>(() => Promise.resolve(noise));
    report.progress(0.3, "sampling");
    report.preview(make);
    await vi.waitUntil(() => first.previews().length > 0, 5_000);
    const late = [web, otherWeb].map((each) => follow(each, owner.userId));
    await vi.waitUntil(() => late.every((each) => each.previews().length > 0), 5_000);
    const expected = asDataUrl(noise);
    expect(late.map((each) => each.previews()[0])).toEqual([expected, expected]);
  });

  test("A12 no preview is made while the job is not watched; the newest is made once it is", async () => {
    stopClock();
    const [, web] = processes;
    const told: number[] = [];
    closing.push(
      web.hints.subscribeLive((live) => {
        if (live.type === "progress") told.push(live.progress.progress);
      }),
    );
    const makes = Array.from({ length: 3 }, () => vi.fn<MakePreview>(() => Promise.resolve(noise)));
    for (const [at, make] of makes.entries()) {
      report.preview(make);
      report.progress((at + 1) / 10, "sampling");
      await vi.waitUntil(() => told.includes((at + 1) / 10), 5_000);
    }
    expect(makes.map((make) => make.mock.calls.length)).toEqual([0, 0, 0]);
    const seen = follow(web, owner.userId);
    await vi.waitUntil(() => seen.previews().length > 0, 5_000);
    expect(makes.map((make) => make.mock.calls.length)).toEqual([0, 0, 1]);
  });

  test("A12 a job that was watched before its run reports has its first preview made", async () => {
    const [worker, web] = processes;
    hearWatchers(worker);
    const heard: string[] = [];
    closing.push(
      worker.hints.subscribe((message) => {
        if (message.type === "watched") heard.push(...message.jobIds);
      }),
    );
    const own = await startJob();
    web.hints.publish({ type: "watched", jobIds: [own.jobId], wantsLatest: true });
    await vi.waitUntil(() => heard.includes(own.jobId));
    const late = createReport(worker, own);
    closing.push(() => late.end());
    const make = vi.fn<MakePreview>(() => Promise.resolve(noise));
    late.preview(make);
    await vi.waitUntil(() => make.mock.calls.length > 0);
    expect(make).toHaveBeenCalledOnce();
  });

  test("A12 previews that come faster than they are made do not pile up, and the last one is shown", async () => {
    stopClock();
    const [, web] = processes;
    const seen = follow(web, owner.userId);
    let making = 0;
    let mostAtOnce = 0;
    let made = 0;
    const makeSlowly = (jpeg: Buffer) => async () => {
      making += 1;
      mostAtOnce = Math.max(mostAtOnce, making);
      await vi.waitUntil(() => seen.isOpen());
      making -= 1;
      made += 1;
      return jpeg;
    };
    report.preview(makeSlowly(noise));
    await vi.waitUntil(() => seen.previews().length > 0, 5_000);
    const last = await makeNoise();
    for (let at = 0; at < 20; at += 1) report.preview(makeSlowly(noise));
    report.preview(makeSlowly(last));
    await vi.waitUntil(() => seen.previews().includes(asDataUrl(last)), 5_000);
    expect(mostAtOnce).toBe(1);
    expect(made).toBeLessThanOrEqual(3);
  });

  test("a guest who signs in during a run sees progress and previews in the account", async () => {
    const [worker, web] = processes;
    const account = await addOwner(worker);
    const [guestSees, accountSees] = [owner.userId, account.userId].map((id) => follow(web, id));
    report.progress(0.2, "sampling");
    await vi.waitUntil(() => guestSees?.progress().length === 1, 5_000);
    await mergeGuest(worker.db, { guestId: owner.userId, accountId: account.userId, bytesPerUser: 1e9 });
    report.progress(0.4, "sampling");
    report.preview(() => Promise.resolve(noise));
    // A second web process has never seen the job as the guest's.
    const elsewhere = follow(processes[2], account.userId);
    await vi.waitUntil(() => elsewhere.previews().length > 0, 5_000);
    await vi.waitUntil(() => {
      report.preview(() => Promise.resolve(noise));
      return accountSees?.previews().length;
    }, 5_000);
    expect(await readJob(worker, lease.jobId)).toMatchObject({ ownerId: account.userId });
  });

  test("the stream of one job reads nothing for progress or for other jobs of its owner", async () => {
    stopClock();
    const [worker, web] = processes;
    const other = lease;
    const own = await startJob();
    const seen = follow(web, owner.userId);
    await vi.waitUntil(() => seen.isOpen());
    const { signal, abort } = closable();
    const story = streamEvents(web, { ownerId: owner.userId, id: own.jobId, after: 0, signal });
    const readUntil = async (type: string) => {
      for await (const event of { [Symbol.asyncIterator]: () => ({ next: () => story.next() }) })
        if (event?.type === type) return;
    };
    await readUntil("started");
    // Safe: drizzle keeps the client that it was given here.
    const { $client: client } = web.db as unknown as { $client: { query(statement: unknown): unknown } };
    const queries = vi.spyOn(client, "query");
    const storyReads = () =>
      queries.mock.calls.filter(([query]) => /select.*from "?job_events/s.test(textOf(query))).length;
    // Of the start itself its letter may still wait.
    for (let pauses = 0; pauses < 3;) if ((await story.next()).value === null) pauses += 1;
    expect(storyReads()).toBeLessThanOrEqual(1);
    queries.mockClear();
    const reading = readUntil("progress");
    for (let at = 1; at <= 5; at += 1) {
      report.progress(at / 10, "sampling");
      await vi.waitUntil(() => seen.progress().some(({ progress }) => progress === at / 10), 5_000);
    }
    await persistProgress(worker, other, { progress: 0.6, stage: "sampling" });
    await persistProgress(worker, own, { progress: 0.5, stage: "sampling" });
    await reading;
    abort();
    await story.return(undefined);
    // Its own change.
    expect(storyReads()).toBe(1);
    queries.mockRestore();
  });
});

test("on PostgreSQL a preview of real size costs one statement", async () => {
  const opened = await createTestServices();
  const { services } = opened;
  const received: string[] = [];
  services.hints.subscribeLive((live) => {
    if (live.type === "progress") received.push(live.progress.preview ?? "");
  });
  const noise = (await makeNoise()).toString("base64");
  const queries = vi.spyOn(pg.Pool.prototype, "query");
  const send = () =>
    services.hints.publish({
      type: "progress",
      progress: { jobId: "one", attempt: 1, progress: 0.5, stage: "Entwürfe – 草稿", preview: noise },
    });
  await vi.waitUntil(() => {
    send();
    return received.length > 0;
  }, 5_000);
  const sent = queries.mock.calls.length;
  for (let at = 0; at < 5; at += 1) send();
  expect(queries.mock.calls.length).toBe(sent + 5);
  await vi.waitUntil(() => received.length >= 6, 5_000);
  expect(new Set(received)).toEqual(new Set([noise]));
  queries.mockRestore();
  await opened.close();
});

function closable() {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort() };
}

function textOf(query: unknown): string {
  return typeof query === "object" && query !== null && "text" in query ? String(query.text) : String(query);
}

/** Both channels are connected in every process, and stay so: what is sent from now on arrives. */
async function untilConnected(processes: readonly Services[]): Promise<void> {
  const [first] = processes;
  const connected = new Set<string>();
  for (const [at, { hints }] of processes.entries()) {
    hints.subscribe(() => connected.add(`hints ${at}`));
    hints.subscribeLive(() => connected.add(`progress ${at}`));
  }
  await vi.waitUntil(() => {
    first?.hints.publish({ type: "cancel", jobId: "none" });
    first?.hints.publish({
      type: "progress",
      progress: { jobId: "none", attempt: 1, progress: 0, stage: "" },
    });
    return connected.size === processes.length * 2;
  }, 5_000);
}
