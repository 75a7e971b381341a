import { readdir, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { PassThrough } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { schema } from "@atelier/server/db";
import { gateModel } from "@atelier/server/gate";
import { ingest } from "@atelier/server/images";
import { cancelAny, claim, submit, sweep } from "@atelier/server/jobs";
import { writeQueues } from "@atelier/server/nodes";
import {
  addJob,
  addNode,
  addOwner,
  addServer,
  localOffers,
  readJob,
  readStory,
  testQueue,
  until,
} from "@atelier/testing/jobs";
import { modelPath } from "@atelier/server/models";
import { AppError, parseConfig } from "@atelier/server/platform";
import { listObjects } from "@atelier/server/storage";
import { addTinyGateModel, pictureOf, silentPicture } from "@atelier/testing/content-gate";
import { listTempFiles } from "@atelier/testing/pictures";
import { captureLog, createTestServices, type TestServices } from "@atelier/testing/services";

import { eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { consume, type ConsumeInput } from "./claims.ts";
import type { Engine, EngineContext } from "./engines/index.ts";
import { runJob } from "./run-job.ts";
import { RunStopped } from "./base/index.ts";
import { createRuns } from "./runs.ts";
import { createSharedServers } from "./shared-servers.ts";

let opened: TestServices;

beforeAll(async () => {
  opened = await createTestServices();
});
afterAll(() => opened.close());

test("D12 a run works below the data folder, where the sweep finds what a killed worker leaves", async () => {
  const { services } = opened;
  const nodeId = await addNode(services);
  const id = await addJob(services, { owner: await addOwner(services) });
  const job = await claim(services, { nodeId, queue: testQueue, offers: localOffers });
  if (!job) throw new Error("the job was not claimed");
  const seen: { inFolder: string[]; parent: string }[] = [];
  const engine: Engine = {
    name: "local",
    kinds: ["upscale"],
    async run({ workDir, inputs }) {
      seen.push({ inFolder: await readdir(workDir), parent: path.dirname(workDir) });
      return [{ path: String(inputs.image), mime: "image/png" }];
    },
    close: () => Promise.resolve(),
  };
  const lease = { jobId: id, attempt: job.attempt, nodeId };
  await runJob(services, {
    job,
    lease,
    engine,
    otherServers: [],
    sharedServers: createSharedServers(services),
    signal: new AbortController().signal,
    onBegin: () => undefined,
  });
  expect(seen).toEqual([{ inFolder: ["image"], parent: path.resolve(services.env.ATELIER_DATA_DIR, "tmp") }]);
  expect((await readJob(services, id)).status).toBe("completed");
  expect(await listTempFiles(services)).toEqual([]);
});

test("a job whose picture is gone fails before its engine runs", async () => {
  const { services } = opened;
  const nodeId = await addNode(services);
  const owner = await addOwner(services);
  const id = await addJob(services, { owner, once: true });
  await services.db.delete(schema.jobInputs).where(eq(schema.jobInputs.jobId, id));
  const job = await claim(services, { nodeId, queue: testQueue, offers: localOffers });
  if (!job) throw new Error("the job was not claimed");
  let runs = 0;
  const engine: Engine = {
    name: "local",
    kinds: ["upscale"],
    async run() {
      runs += 1;
      return [];
    },
    close: () => Promise.resolve(),
  };
  await runJob(services, {
    job,
    lease: { jobId: id, attempt: job.attempt, nodeId },
    engine,
    otherServers: [],
    sharedServers: createSharedServers(services),
    signal: new AbortController().signal,
    onBegin: () => undefined,
  });
  expect(await readJob(services, id)).toMatchObject({ status: "failed", errorCode: "input_missing" });
  expect(runs).toBe(0);
});

test.each([
  [
    "refuses the photo",
    { safety: { refuseInputs: { upscale: 0.8 } }, colour: "red", code: "input_refused", ran: [] },
  ],
  [
    "refuses the result",
    { safety: { refuseResults: { upscale: 0.8 } }, colour: "red", code: "result_refused", ran: ["green"] },
  ],
  [
    "has no model",
    { safety: { refuseResults: { upscale: 0.8 } }, colour: "green", code: "gate_unavailable", ran: [] },
  ],
] as const)(
  "S5 where the gate %s, the job fails once and nothing is shown or kept",
  async (_, { safety, colour, code, ran }) => {
    const config = parseConfig({ safety });
    const services = { ...opened.services, config };
    if (code !== "gate_unavailable") await addTinyGateModel(services.env);
    else await rm(modelPath(services.env, gateModel), { force: true });
    const nodeId = await addNode(services);
    const owner = await addOwner(services);
    const [green, red] = [await pictureOf("green"), await pictureOf("red")];
    const id = await addJob(services, { owner });
    const bytes = code === "input_refused" ? red : green;
    const { id: inputId } = await ingest(services, { ownerId: owner.userId, role: "upload", bytes });
    await services.db
      .update(schema.jobInputs)
      .set({ imageId: inputId })
      .where(eq(schema.jobInputs.jobId, id));
    const job = await claim(services, { nodeId, queue: testQueue, offers: localOffers });
    if (!job) throw new Error("the job was not claimed");
    const seen: string[] = [];
    let previews = 0;
    const engine: Engine = {
      name: "local",
      kinds: ["upscale"],
      async run({ workDir }, context) {
        seen.push("green");
        context.onPreview(async () => {
          previews += 1;
          return null;
        });
        const made = path.join(workDir, "made");
        await writeFile(made, colour === "red" ? red : green);
        return [{ path: made, mime: "image/png" }];
      },
      close: () => Promise.resolve(),
    };
    await runJob(services, {
      job,
      lease: { jobId: id, attempt: job.attempt, nodeId },
      engine,
      otherServers: [],
      sharedServers: createSharedServers(services),
      signal: new AbortController().signal,
      onBegin: () => undefined,
    });
    expect(await readJob(services, id)).toMatchObject({ status: "failed", errorCode: code });
    expect([seen, previews]).toEqual([ran, 0]);
    const kept = await services.db.$count(schema.images, eq(schema.images.jobId, id));
    expect([kept, await listTempFiles(services)]).toEqual([0, []]);
  },
);

test("C6 the lines of a run carry the id of the request that submitted the job", async () => {
  const { log, lines } = captureLog();
  const services = { ...opened.services, log };
  const nodeId = await addNode(services);
  const owner = await addOwner(services);
  for (const requestId of ["from-the-web", null]) {
    const id = await addJob(services, { owner });
    const job = await claim(services, { nodeId, queue: testQueue, offers: localOffers });
    if (job?.id !== id) throw new Error("the job was not claimed");
    await runJob(services, {
      job: { ...job, requestId },
      lease: { jobId: id, attempt: job.attempt, nodeId },
      engine: null,
      otherServers: [],
      sharedServers: createSharedServers(services),
      signal: new AbortController().signal,
      onBegin: () => undefined,
    });
  }
  const run = lines.map((line) => JSON.parse(line) as { msg: string; requestId?: string });
  expect(run.map(({ msg, requestId }) => [msg, requestId])).toEqual([
    ["run failed", "from-the-web"],
    ["run ended", "from-the-web"],
    ["run failed", undefined],
    ["run ended", undefined],
  ]);
});

test("A17 a stopped run is handed back whatever its engine throws then, and though the database is away at first", async () => {
  const { services } = opened;
  const nodeId = await addNode(services);
  const id = await addJob(services, { owner: await addOwner(services) });
  const job = await claim(services, { nodeId, queue: testQueue, offers: localOffers });
  if (!job) throw new Error("the job was not claimed");
  const stop = new AbortController();
  let refusals = 0;
  const execute: typeof services.db.execute = (query) => {
    if (stop.signal.aborted && (refusals += 1) <= 2)
      throw Object.assign(new Error("terminating connection"), { code: "57P01" });
    return services.db.execute(query);
  };
  const engine: Engine = {
    name: "local",
    kinds: ["upscale"],
    run() {
      stop.abort(new RunStopped("stopping"));
      return Promise.reject(new AppError("engine_crashed"));
    },
    close: () => Promise.resolve(),
  };
  await runJob(
    { ...services, db: Object.assign(Object.create(services.db), { execute }) },
    {
      job,
      lease: { jobId: id, attempt: job.attempt, nodeId },
      engine,
      otherServers: [],
      sharedServers: createSharedServers(services),
      signal: stop.signal,
      onBegin: () => undefined,
    },
  );
  expect(refusals).toBeGreaterThan(2);
  expect(await readJob(services, id)).toMatchObject({ charged: 0, nodeId: null, errorCode: null });
  expect((await readStory(services, id)).map(({ type }) => type)).toContain("handed_back");
});

/** A node with two queues, whose engine ends a run when the test lets it. */
async function consumeTwoQueues() {
  const { services } = opened;
  const nodeId = await addNode(services);
  const [node] = await services.db.select().from(schema.nodes);
  if (!node) throw new Error("the node is missing");
  const queues = [testQueue, "other"].map((queue) => ({ queue, slots: 1, offers: [] }));
  await writeQueues(
    services.db,
    nodeId,
    queues.map(({ queue, slots }) => ({ queue, slots, needs: ["local/upscale"] })),
  );
  const endById = new Map<string, () => void>();
  /** Queues whose next job was looked for as if the node's runs had ended. */
  const laterQueues: string[] = [];
  const engine: Engine = {
    name: "local",
    kinds: ["upscale"],
    async run({ jobId, inputs }) {
      await new Promise<void>((resolve) => endById.set(jobId, resolve));
      return [{ path: String(inputs.image), mime: "image/png" }];
    },
    close: () => Promise.resolve(),
  };
  const capability = { cores: 2, memoryBytes: 1, gpus: [], kinds: [], engines: [] };
  const offer: ConsumeInput["offer"] = {
    current: () => ({ capability, queues, localSlots: 2 }),
    freeOffers: () => localOffers,
    offers: (queue) => (laterQueues.push(queue), localOffers),
    otherServers: () => [],
    setSettings: () => undefined,
    refuse: () => undefined,
    onChange: () => () => undefined,
    close: () => undefined,
  };
  const incarnation = { current: () => node, stop: () => Promise.resolve() };
  const runs = createRuns();
  const sharedServers = createSharedServers(services);
  const readiness = { isReady: () => true };
  const input = { offer, engines: [engine], incarnation, runs, readiness, sharedServers };
  return { consumers: consume(services, input), endById, laterQueues };
}

test("F34 a job that must run alone begins as soon as the other queue's run ends, and then that queue goes on", async () => {
  const { services } = opened;
  await services.db.delete(schema.jobs);
  await services.db.delete(schema.nodes);
  const owner = await addOwner(services);
  const { consumers, endById, laterQueues } = await consumeTwoQueues();
  const first = await addJob(services, { owner, queue: "other" });
  await until(services, first, "processing");
  const alone = await addJob(services, { owner, lostWorkers: 2 });
  const last = await addJob(services, { owner, queue: "other" });
  await expect.poll(() => laterQueues).toContain("other");
  for (const [id, next] of [
    [first, alone],
    [alone, last],
  ] as const) {
    expect((await readJob(services, next)).status).toBe("queued");
    await expect.poll(() => endById.has(id)).toBe(true);
    endById.get(id)?.();
    await until(services, next, "processing");
  }
  await expect.poll(() => endById.has(last)).toBe(true);
  endById.get(last)?.();
  await until(services, last, "completed");
  await consumers.close();
});

describe("F28 the limits of a run on a server", () => {
  const queue = "gpu-high";
  const need = "comfyui/upscale_model";
  const [busy, other] = ["http://busy:8188", "http://other:8188"];

  /** Runs a job whose engine behaves so, with short limits; gives the job as it is then. */
  async function runWith(limits: Record<string, number>, wait: (context: EngineContext) => Promise<void>) {
    const { services: real } = opened;
    const timing = { ...real.config.timing, serverRunPerMegapixelStepMs: 1, ...limits };
    const services = { ...real, config: { ...real.config, timing } };
    await services.db.delete(schema.jobs);
    await services.db.delete(schema.nodes);
    const nodeId = await addNode(services, { queue, needs: [need] });
    for (const url of [busy, other]) await addServer(services, { nodeId, url, needs: [need] });
    const owner = await addOwner(services);
    const request = { kind: "upscale", workflow: "upscale_model", inputs: { image: owner.imageId } };
    const { id } = await submit(services, request, { submitter: owner });
    await sweep(services);
    const offers = [{ need, servers: [busy, other] }] as const;
    const job = await claim(services, { nodeId, queue, offers });
    if (!job) throw new Error("the job was not claimed");
    const engine: Engine = {
      name: "comfyui",
      kinds: ["upscale"],
      async run({ inputs }, context) {
        await context.onSubmitting({ server: busy, externalId: "one" });
        await wait(context);
        return [{ path: String(inputs.image), mime: "image/png" }];
      },
      close: () => Promise.resolve(),
    };
    const { signal } = new AbortController();
    const lease = { jobId: id, attempt: job.attempt, nodeId };
    await runJob(services, {
      job,
      lease,
      engine,
      otherServers: [],
      sharedServers: createSharedServers(services),
      signal,
      onBegin: () => undefined,
    });
    return readJob(services, id);
  }
  const aborted = ({ signal }: EngineContext) =>
    new Promise<void>((_resolve, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason));
    });

  test("what it waits for its server does not count", async () => {
    const limits = { serverRunBaseMs: 400, serverWaitLimitMs: 60_000 };
    const job = await runWith(limits, async (context) => {
      await Promise.race([sleep(1_000), aborted(context)]);
      context.onBegin();
    });
    expect(job).toMatchObject({ status: "completed", attempt: 1, charged: 0 });
  });

  test("who waits for too long goes to another server, uncharged", async () => {
    const job = await runWith({ serverWaitLimitMs: 50 }, aborted);
    expect(job).toMatchObject({ charged: 0, avoid: [busy], externalId: null, notBefore: null });
  });

  test("a slow card that makes progress is not stopped; one that stands still, or says the same again and again, is", async () => {
    const limits = { serverRunBaseMs: 400, serverWaitLimitMs: 60_000 };
    const walk = (fractionOf: (step: number) => number) => async (context: EngineContext) => {
      context.onBegin();
      for (let step = 1; step <= 10; step += 1) {
        await Promise.race([sleep(100), aborted(context)]);
        context.onProgress(fractionOf(step), "sampling");
      }
    };
    expect(
      await runWith(
        limits,
        walk((step) => step / 10),
      ),
    ).toMatchObject({ status: "completed", charged: 0 });
    expect(
      await runWith(
        limits,
        walk(() => 0.1),
      ),
    ).toMatchObject({ charged: 1, avoid: [busy] });
  });

  test("who works for too long is charged for it", async () => {
    const job = await runWith({ serverRunBaseMs: 50, serverWaitLimitMs: 60_000 }, async (context) => {
      context.onBegin();
      await aborted(context);
    });
    expect(job).toMatchObject({ charged: 1, avoid: [busy] });
  });
});

/** As of a store that takes requests and says nothing, until it is let go. */
function newSilence() {
  const { promise, resolve } = Promise.withResolvers<void>();
  const heard = Promise.withResolvers<void>();
  const silent = async () => {
    heard.resolve();
    await promise;
  };
  return { silent, end: resolve, isMet: heard.promise };
}

interface RunOn {
  readonly pictures: number;
  /** Instead of the job's own picture. */
  readonly file?: string;
  readonly safety?: object;
  readonly onMade?: (jobId: string) => PromiseLike<unknown>;
}

/** The run of a job whose pictures go to this store; `kept`: its objects and the files of all runs. */
async function runOn(disk: TestServices["services"]["disk"], { pictures, file, safety = {}, onMade }: RunOn) {
  const { services } = opened;
  const nodeId = await addNode(services);
  const id = await addJob(services, { owner: await addOwner(services) });
  const job = await claim(services, { nodeId, queue: testQueue, offers: localOffers });
  if (!job) throw new Error("the job was not claimed");
  const engine: Engine = {
    name: "local",
    kinds: ["upscale"],
    async run({ inputs }) {
      await onMade?.(id);
      const made = { path: file ?? String(inputs.image), mime: "image/png" } as const;
      return Array.from({ length: pictures }, () => made);
    },
    close: () => Promise.resolve(),
  };
  const stop = new AbortController();
  const run = runJob(
    { ...services, disk, config: parseConfig({ safety }) },
    {
      job,
      lease: { jobId: id, attempt: job.attempt, nodeId },
      engine,
      otherServers: [],
      sharedServers: createSharedServers(services),
      signal: stop.signal,
      onBegin: () => undefined,
    },
  );
  async function cancel() {
    await cancelAny(services, { id });
    stop.abort(new RunStopped("cancelled"));
  }
  async function kept() {
    const keys: string[] = [];
    for await (const page of listObjects(services.disk, `jobs/${id}`))
      keys.push(...page.map(({ key }) => key));
    return [keys, await listTempFiles(services)];
  }
  return { id, nodeId, run, cancel, kept };
}

test.each([
  ["answers no request for its picture", "open"],
  ["stands still in the middle of its picture", "stream"],
  ["does not take its result", "put"],
] as const)(
  "F36 D6 a job that is cancelled while the store %s ends at once and leaves nothing",
  async (_, phase) => {
    const { services } = opened;
    const { silent, end, isMet } = newSilence();
    const disk: typeof services.disk = Object.create(services.disk);
    if (phase === "open") disk.open = async (key) => (await silent(), services.disk.open(key));
    if (phase === "stream")
      disk.open = async (key) => {
        const found = await services.disk.open(key);
        const held = new PassThrough();
        found?.stream.once("end", () => void silent().then(() => held.end()));
        return found && { ...found, stream: found.stream.pipe(held, { end: false }) };
      };
    let written = 0;
    if (phase === "put")
      disk.put = async (...given) => {
        await silent();
        await services.disk.put(...given);
        written += 1;
      };
    const { id, nodeId, run, cancel, kept } = await runOn(disk, { pictures: 1 });
    await isMet;
    await cancel();
    await run;
    expect(await readJob(services, id)).toMatchObject({ status: "cancelled", nodeId });
    end();
    const files = phase === "put" ? 3 : 0;
    await vi.waitFor(async () => expect([written, ...(await kept())]).toEqual([files, [], []]));
  },
);

test("F36 D6 a job that is cancelled while the store removes nothing of a result that failed ends at once", async () => {
  const { services } = opened;
  const { silent, end, isMet } = newSilence();
  const disk: typeof services.disk = Object.create(services.disk);
  disk.put = async (key, ...given) => {
    if (key.includes("/1/1/")) throw new Error("the store is away");
    await services.disk.put(key, ...given);
  };
  const { driver } = services.disk;
  const remove = driver.removeBelow.bind(driver);
  const removing = vi.spyOn(driver, "removeBelow").mockImplementation(async (prefix) => {
    if (prefix.endsWith("/0")) await silent();
    await remove(prefix);
  });
  try {
    const { id, nodeId, run, cancel, kept } = await runOn(disk, { pictures: 2 });
    await isMet;
    expect((await kept())[0]).toHaveLength(3);
    await cancel();
    await run;
    expect(await readJob(services, id)).toMatchObject({ status: "cancelled", nodeId });
    end();
    await vi.waitFor(async () => expect(await kept()).toEqual([[], []]));
  } finally {
    removing.mockRestore();
  }
});

test("F36 a run whose lease is gone ends although the store does not remove its result, and leaves nothing", async () => {
  const { services } = opened;
  const { silent, end } = newSilence();
  const { driver } = services.disk;
  const remove = driver.removeBelow.bind(driver);
  const removing = vi.spyOn(driver, "removeBelow").mockImplementation(async (prefix) => {
    await silent();
    await remove(prefix);
  });
  try {
    const onMade = (id: string) =>
      services.db.update(schema.jobs).set({ attempt: 2 }).where(eq(schema.jobs.id, id));
    const { id, run, kept } = await runOn(services.disk, { pictures: 1, onMade });
    await run;
    expect(await readJob(services, id)).toMatchObject({ status: "processing", attempt: 2 });
    expect((await kept())[0]).toHaveLength(3);
    end();
    await vi.waitFor(async () => expect(await kept()).toEqual([[], []]));
  } finally {
    removing.mockRestore();
  }
});

test("D6 S5 a job that is cancelled while the gate looks at its result ends at once", async () => {
  const { services } = opened;
  await addTinyGateModel(services.env);
  const silent = await silentPicture(path.join(services.env.ATELIER_DATA_DIR, "silent"));
  const safety = { refuseResults: { upscale: 0.8 } };
  const { id, nodeId, run, cancel, kept } = await runOn(services.disk, {
    pictures: 1,
    file: silent.file,
    safety,
  });
  await silent.isRead;
  await cancel();
  await run;
  expect(await readJob(services, id)).toMatchObject({ status: "cancelled", nodeId });
  expect(await kept()).toEqual([[], []]);
  await silent.end();
});
