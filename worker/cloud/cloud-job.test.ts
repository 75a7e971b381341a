import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { eq, sql } from "drizzle-orm";
import sharp from "sharp";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { schema } from "@atelier/server/db";
import { cancelAny, endCall, readJob, sweep } from "@atelier/server/jobs";
import { newId } from "@atelier/server/platform";
import {
  attemptsOf,
  clientOf,
  type ProviderClient,
  ProviderError,
  type ProviderKey,
  type ProviderName,
} from "@atelier/server/providers";
import { addNode, addOwner, loseNode } from "@atelier/testing/jobs";
import { whileCut } from "@atelier/testing/postgres";
import { captureLog, createTestServices, type TestServices } from "@atelier/testing/services";
import { RunStopped } from "../base/index.ts";
import { runCloudJob, submitLimitMs } from "./cloud-job.ts";

let opened: TestServices;
beforeAll(async () => {
  opened = await createTestServices({ config: { cloud: { prices: { "nano-banana": 0.05 } } } });
});
afterAll(() => opened.close());

const access = {
  name: "replicate",
  baseUrl: "http://127.0.0.1:9",
  apiKey: "canary-key",
  webhookSecret: null,
} as const;
const handle = { endpoint: "google/nano-banana", externalId: "late", urls: {} };

type NewJob = Pick<typeof schema.jobs.$inferInsert, "ownerId" | "nodeId" | "kind" | "status" | "inputCount">;

/** A job of the cloud that a node has claimed. */
async function addClaimedJob(row: NewJob) {
  const { services } = opened;
  const id = newId();
  const need = { queue: "cloud", engine: "cloud", model: "nano-banana", need: "cloud/nano-banana" } as const;
  await services.db
    .insert(schema.jobs)
    .values({ id, tier: 1, params: { prompt: "a still pond" }, attempt: 1, ...need, ...row });
  const job = await readJob(services, id);
  if (!job) throw new Error("the job is gone");
  return job;
}

/** Runs a claimed job whose node is called lost during its call; `submit` is how the call ends after that. */
async function runOnLostNode(
  submit: (attempts: () => ReturnType<typeof attemptsOf>) => ReturnType<ProviderClient["submit"]>,
) {
  const { services } = opened;
  const nodeId = await addNode(services, { queue: "cloud", needs: ["cloud/nano-banana"] });
  // A key of its own, since a failure lets a key rest.
  const keys: readonly ProviderKey[] = [{ provider: "replicate", keyId: newId(), access }];
  const { userId: ownerId } = await addOwner(services);
  const job = await addClaimedJob({ ownerId, nodeId, kind: "text_to_image", status: "processing" });
  const { id } = job;
  const cancelled: string[] = [];
  const attempts = () => attemptsOf(services.db, id);
  const client: ProviderClient = {
    ...clientOf("replicate"),
    async submit() {
      await loseNode(services, { nodeId, agoMs: 0 });
      await sweep(services);
      expect((await attempts()).map(({ state }) => state)).toEqual(["unknown"]);
      return submit(attempts);
    },
    cancel(_access, { externalId }, signal) {
      signal.throwIfAborted();
      cancelled.push(externalId);
      return Promise.resolve("requested");
    },
  };
  const lease = { jobId: id, attempt: 1, nodeId };
  const { signal } = new AbortController();
  await runCloudJob(services, { job, lease, keys, clientOf: () => client, signal, onBusy: () => undefined });
  return { job: await readJob(services, id), attempts: await attempts(), cancelled };
}

/** Runs a claimed job whose calls to these providers end as `submit` says. */
async function runCalled(
  submit: ProviderClient["submit"],
  {
    isAsynchronous = true,
    providers = ["replicate"],
    baseUrl = access.baseUrl,
  }: { isAsynchronous?: boolean; providers?: readonly ProviderName[]; baseUrl?: string } = {},
) {
  const { services } = opened;
  const nodeId = await addNode(services, { queue: "cloud", needs: ["cloud/nano-banana"] });
  const keys: readonly ProviderKey[] = providers.map((provider) => {
    return { provider, keyId: newId(), access: { ...access, name: provider, baseUrl } };
  });
  const { userId: ownerId } = await addOwner(services);
  const job = await addClaimedJob({ ownerId, nodeId, kind: "text_to_image", status: "processing" });
  const clientFor = (name: ProviderName): ProviderClient => ({ ...clientOf(name), isAsynchronous, submit });
  const lease = { jobId: job.id, attempt: 1, nodeId };
  const { signal } = new AbortController();
  const run = { job, lease, keys, clientOf: clientFor, signal, onBusy: () => undefined };
  return {
    id: job.id,
    read: async () => ({
      job: await readJob(services, job.id),
      attempts: await attemptsOf(services.db, job.id),
    }),
    running: runCloudJob(services, run),
  };
}

const failed = (errorClass: ConstructorParameters<typeof ProviderError>[0]) => () =>
  Promise.reject(new ProviderError(errorClass, "No."));
const taken = () => Promise.resolve({ handle, run: { state: "queued", progress: null } } as const);

test.each([
  ["accepted", taken, { state: "accepted", externalId: "late" }, "processing"],
  ["refused for now", failed("transient"), { state: "failed", errorClass: "transient" }, "failed"],
  ["refused for good", failed("moderation"), { state: "failed", errorClass: "moderation" }, "failed"],
  ["lost", failed("lost"), { state: "unknown" }, "processing"],
] as const)(
  "F10 R1 a call that was %s is known as that, although the database goes away as it ends",
  async (_, submit, attempt, status) => {
    const { services } = opened;
    const cut = {
      table: "provider_attempts",
      when: "old.state = 'submitting' and new.state <> 'submitting'",
      times: 2,
    };
    const { read } = await whileCut(services, cut, async () => {
      const called = await runCalled(submit);
      await called.running;
      return called;
    });
    const { job, attempts } = await read();
    expect(attempts).toMatchObject([attempt]);
    expect(job).toMatchObject({ status, attempt: 1 });
  },
);

test("F10 R1 a run keeps its id and its job although the database is away for minutes as it is accepted", async () => {
  const { db } = opened.services;
  const real = { now: performance.now.bind(performance), transaction: db.transaction.bind(db) };
  let awayMs = 0;
  let hasAnswered = false;
  const spies = [
    vi.spyOn(performance, "now").mockImplementation(() => real.now() + awayMs),
    vi.spyOn(db, "transaction").mockImplementation((...given) => {
      if (!hasAnswered || awayMs >= 10 * 60_000) return real.transaction(...given);
      awayMs += 120_000;
      return Promise.reject(Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" }));
    }),
  ];
  try {
    const { read, running } = await runCalled(() => ((hasAnswered = true), taken()));
    await running;
    const { job, attempts } = await read();
    expect(attempts).toMatchObject([{ state: "accepted", externalId: "late" }]);
    expect(job).toMatchObject({ status: "processing", providerAttemptId: attempts[0]?.id });
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
});

test("F10 R1 a job whose first provider is busy goes to the next one, although the database goes away then", async () => {
  const { services } = opened;
  const cut = { table: "provider_attempts", when: "new.state = 'failed'", times: 2 };
  const { read } = await whileCut(services, cut, async () => {
    let calls = 0;
    const submit = () => (++calls === 1 ? failed("capacity")() : taken());
    const called = await runCalled(submit, { providers: ["replicate", "fal"] });
    await called.running;
    return called;
  });
  const { job, attempts } = await read();
  expect(attempts).toMatchObject([{ state: "failed", errorClass: "capacity" }, { state: "accepted" }]);
  expect(job).toMatchObject({ status: "processing", providerAttemptId: attempts[1]?.id });
});

test("F10 R1 a job whose only provider refuses it fails, although the database goes away as it does", async () => {
  const { services } = opened;
  const cut = { table: "jobs", when: "new.status = 'failed'", times: 2 };
  const { read } = await whileCut(services, cut, async () => {
    const called = await runCalled(failed("moderation"));
    await called.running;
    return called;
  });
  expect((await read()).job).toMatchObject({ status: "failed" });
});

test("F10 R1 a refusal that is noted twice leaves the job with its worker", async () => {
  const { services } = opened;
  const { promise: answer, reject: refuse } = Promise.withResolvers<never>();
  const { promise: called, resolve: call } = Promise.withResolvers<void>();
  const { id, read, running } = await runCalled(() => (call(), answer));
  await called;
  const { job, attempts } = await read();
  const [attempt] = attempts;
  if (!job?.nodeId || !attempt) throw new Error("no call was made");
  const lease = { jobId: id, attempt: 1, nodeId: job.nodeId };
  const error = new ProviderError("transient", "HTTP 503");
  const refusal = { as: "refused", error, costUsd: null } as const;
  expect(await endCall(services, { lease, attempt }, refusal)).toBe("next");
  expect(await endCall(services, { lease, attempt }, refusal)).toBe("next");
  refuse(error);
  await running;
  expect((await read()).attempts).toMatchObject([{ state: "failed", errorClass: "transient" }]);
});

test("F10 R1 a call that takes minutes, or whose picture does to store, is its worker's as long as that works on it", async () => {
  const { services } = opened;
  const { db } = services;
  const bytes = await sharp({ create: { width: 40, height: 60, channels: 3, background: "#c05030" } })
    .png()
    .toBuffer();
  const answered = Promise.withResolvers<void>();
  const called = Promise.withResolvers<void>();
  const stored = Promise.withResolvers<void>();
  const storing = Promise.withResolvers<void>();
  const put = services.disk.put.bind(services.disk);
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  const spy = vi.spyOn(services.disk, "put").mockImplementation(async (key, ...given) => {
    if (key.startsWith("jobs/")) {
      storing.resolve();
      await stored.promise;
    }
    await put(key, ...given);
  });
  try {
    const run = { state: "succeeded", outputs: [{ bytes }], costUsd: 0.05 } as const;
    const submit = async () => (called.resolve(), await answered.promise, { handle, run });
    const { id, read, running } = await runCalled(submit, { isAsynchronous: false });
    const { providerAttempts } = schema;
    const isHeld = sql`${providerAttempts.jobId} = ${id} and ${providerAttempts.nextPollAt} > clock_timestamp() + interval '2 minutes'`;
    const spendMinutes = async () => {
      for (let minute = 1; minute <= 4; minute += 1) {
        const nextPollAt = sql`${providerAttempts.nextPollAt} - interval '1 minute'`;
        await db.update(providerAttempts).set({ nextPollAt }).where(eq(providerAttempts.jobId, id));
        vi.advanceTimersByTime(60_000);
        await vi.waitUntil(async () => (await db.$count(providerAttempts, isHeld)) > 0, { timeout: 5_000 });
        await sweep(services);
      }
      expect((await read()).attempts).toMatchObject([{ state: "submitting" }]);
    };
    await called.promise;
    await spendMinutes();
    answered.resolve();
    await storing.promise;
    await spendMinutes();
    stored.resolve();
    await running;
    const { job, attempts } = await read();
    expect(job).toMatchObject({ status: "completed" });
    expect(attempts).toMatchObject([{ state: "succeeded", costUsd: 0.05 }]);
  } finally {
    answered.resolve();
    stored.resolve();
    spy.mockRestore();
    vi.useRealTimers();
  }
});

test("F10 R1 a refusal that comes after the call was taken over sends the job back to the line", async () => {
  const { job, attempts } = await runOnLostNode(() =>
    Promise.reject(new ProviderError("transient", "HTTP 503")),
  );
  expect(job).toMatchObject({ providerAttemptId: null, nodeId: null, charged: 0 });
  expect(["pending", "queued"]).toContain(job?.status);
  expect(attempts).toMatchObject([{ state: "failed", errorClass: "transient", costUsd: 0 }]);
});

test("a refusal of the content that comes so late ends the job where no own machine can run it", async () => {
  const { job } = await runOnLostNode(() => Promise.reject(new ProviderError("moderation", "No.")));
  expect(job).toMatchObject({ status: "failed", errorCode: "engine_blocked" });
});

test("F10 R1 a run that is accepted after the call was taken over is followed", async () => {
  const accepted = { handle, run: { state: "queued", progress: null } } as const;
  const { job, attempts, cancelled } = await runOnLostNode(() => Promise.resolve(accepted));
  expect(attempts).toMatchObject([{ state: "accepted", externalId: "late" }]);
  expect(job).toMatchObject({ status: "processing", providerAttemptId: attempts[0]?.id });
  expect(cancelled).toEqual([]);
});

const unsent = {
  as: "refused",
  error: new ProviderError("unsent", "The provider never got the request."),
  costUsd: null,
} as const;

test("F10 R1 a run that is accepted after its job went on without it is cancelled at the provider", async () => {
  const accepted = { handle, run: { state: "queued", progress: null } } as const;
  const { attempts, cancelled } = await runOnLostNode(async (read) => {
    for (const attempt of await read()) await endCall(opened.services, { attempt }, unsent);
    return accepted;
  });
  expect(attempts).toMatchObject([{ state: "failed", errorClass: "unsent" }]);
  expect(cancelled).toEqual(["late"]);
});

/** The time of each call is over when `end` is called; all other limits are as ever. */
function callLimit() {
  const limit = new AbortController();
  const real = AbortSignal.timeout.bind(AbortSignal);
  const spy = vi
    .spyOn(AbortSignal, "timeout")
    .mockImplementation((ms) => (ms === submitLimitMs ? limit.signal : real(ms)));
  return { end: () => limit.abort(new Error("the time is over")), restore: () => spy.mockRestore() };
}

test("F10 R1 a run that nobody waits for is cancelled also when the time of its call is over", async () => {
  const limit = callLimit();
  try {
    const { cancelled } = await runOnLostNode(async (read) => {
      for (const attempt of await read()) await endCall(opened.services, { attempt }, unsent);
      limit.end();
      return { handle, run: { state: "queued", progress: null } };
    });
    expect(cancelled).toEqual(["late"]);
  } finally {
    limit.restore();
  }
});

test("F10 a picture that is ready at its address as the time of its call ends is fetched", async () => {
  const picture = await sharp({ create: { width: 40, height: 60, channels: 3, background: "#c05030" } })
    .png()
    .toBuffer();
  const server = createServer((_request, response) => void response.end(picture));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const limit = callLimit();
  try {
    const run = { state: "succeeded", outputs: [{ url: `${baseUrl}/a.png` }], costUsd: 0.05 } as const;
    const submit = () => (limit.end(), Promise.resolve({ handle, run }));
    const { read, running } = await runCalled(submit, { isAsynchronous: false, baseUrl });
    await running;
    const { job, attempts } = await read();
    expect(attempts).toMatchObject([{ state: "succeeded", costUsd: 0.05 }]);
    expect(job).toMatchObject({ status: "completed" });
  } finally {
    limit.restore();
    server.closeAllConnections();
    server.close();
  }
});

test("what is to follow a job in a batch begins with the picture that its provider makes at once", async () => {
  const { db } = opened.services;
  const bytes = await sharp({ create: { width: 40, height: 60, channels: 3, background: "#c05030" } })
    .png()
    .toBuffer();
  const { promise: answer, resolve } = Promise.withResolvers<void>();
  const run = { state: "succeeded", outputs: [{ bytes }], costUsd: 0.05 } as const;
  const submit = async () => (await answer, { handle, run });
  const { id, read, running } = await runCalled(submit, { isAsynchronous: false });
  const batchId = newId();
  const ownerId = (await read()).job?.ownerId ?? "";
  await db.insert(schema.batches).values({ id: batchId, ownerId, size: 1 });
  await db.insert(schema.batchJobs).values({ batchId, position: 0, jobId: id });
  const request = { kind: "upscale", params: {}, inputs: {} };
  await db
    .insert(schema.batchSteps)
    .values({ batchId, position: 0, number: 1, role: "image", request, maxPriceUsd: 0 });
  resolve();
  await running;
  expect((await read()).job).toMatchObject({ status: "completed" });
  const isBegun = sql`${schema.batchSteps.batchId} = ${batchId} and ${schema.batchSteps.begunAt} is not null`;
  await vi.waitUntil(async () => (await db.$count(schema.batchSteps, isBegun)) > 0, { timeout: 10_000 });
});

const flagged = new ProviderError("moderation", "It was made and flagged.", { isCharged: true });

test.each([
  ["the price that the provider states", flagged, 0.02, 0.02],
  ["nothing, where it states that", flagged, 0, 0],
  ["the price of the list, where it states none", flagged, null, 0.05],
  ["nothing, where nothing was made", new ProviderError("moderation", "No."), null, null],
])("F10 a call that was refused after it was answered costs %s", async (_, error, costUsd, booked) => {
  const submit = () => Promise.resolve({ handle, run: { state: "failed", error, costUsd } as const });
  const { read, running } = await runCalled(submit, { isAsynchronous: false });
  await running;
  const { job, attempts } = await read();
  expect(attempts).toMatchObject([{ state: "failed", errorClass: "moderation", costUsd: booked }]);
  expect(job).toMatchObject({ status: "failed" });
});

test.each([
  [0.02, 0.02],
  [null, 0.05],
])(
  "F10 a flagged picture whose call was taken over meanwhile costs what is stated (%s), or its price",
  async (costUsd, booked) => {
    const run = { state: "failed", error: flagged, costUsd } as const;
    const { attempts } = await runOnLostNode(() => Promise.resolve({ handle, run }));
    expect(attempts).toMatchObject([{ state: "failed", errorClass: "moderation", costUsd: booked }]);
  },
);

test("D6 a job that is cancelled while the store is silent ends at once, and no provider is called", async () => {
  const { services } = opened;
  const nodeId = await addNode(services, { queue: "cloud", needs: ["cloud/nano-banana"] });
  const { userId: ownerId, imageId } = await addOwner(services);
  const job = await addClaimedJob({
    ownerId,
    nodeId,
    kind: "edit",
    status: "waiting_for_engine",
    inputCount: 1,
  });
  const { id } = job;
  await services.db.insert(schema.jobInputs).values({ jobId: id, imageId, role: "image" });
  const asked = Promise.withResolvers<void>();
  const disk: typeof services.disk = Object.create(services.disk);
  disk.open = () => {
    asked.resolve();
    return new Promise(() => undefined);
  };
  const stop = new AbortController();
  const clientOf = () => {
    throw new Error("a provider is called");
  };
  const run = runCloudJob(
    { ...services, disk },
    {
      job,
      lease: { jobId: id, attempt: 1, nodeId },
      keys: [{ provider: "replicate", keyId: newId(), access }],
      clientOf,
      signal: stop.signal,
      onBusy: () => undefined,
    },
  );
  await asked.promise;
  await cancelAny(services, { id });
  stop.abort(new RunStopped("cancelled"));
  await run;
  expect(await readJob(services, id)).toMatchObject({ status: "cancelled", providerAttemptId: null });
});

test("C6 the lines of a call carry the id of the request that submitted the job", async () => {
  const { log, lines } = captureLog();
  const services = { ...opened.services, log };
  const nodeId = await addNode(services, { queue: "cloud", needs: ["cloud/nano-banana"] });
  const { userId: ownerId } = await addOwner(services);
  const job = await addClaimedJob({ ownerId, nodeId, kind: "text_to_image", status: "processing" });
  await runCloudJob(services, {
    job: { ...job, requestId: "from-the-web" },
    lease: { jobId: job.id, attempt: 1, nodeId },
    keys: [{ provider: "replicate", keyId: newId(), access }],
    clientOf: () => ({ ...clientOf("replicate"), submit: failed("moderation") }),
    signal: new AbortController().signal,
    onBusy: () => undefined,
  });
  const own = lines
    .map((line) => JSON.parse(line) as { msg: string; jobId?: string; requestId?: string })
    .filter(({ jobId }) => jobId === job.id);
  expect(own.map(({ msg }) => msg)).toContain("submit ended");
  expect(new Set(own.map(({ requestId }) => requestId))).toEqual(new Set(["from-the-web"]));
});
