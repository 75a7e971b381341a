import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { mkdtemp, readdir, rm, utimes, writeFile } from "node:fs/promises";
import os from "node:os";
import { schema } from "@atelier/server/db";
import type { JobKind } from "@atelier/server/engines";
import { endCall, readJob, readAnyStory } from "@atelier/server/jobs";
import { AppError, isAppError, newId, parseConfig } from "@atelier/server/platform";
import { attemptHoldMs, attemptsOf, ProviderError, type ProviderOutput } from "@atelier/server/providers";
import {
  listObjects,
  sweepTempFolders,
  tempFolderMs,
  tempRoot,
  withTempFolder,
} from "@atelier/server/storage";
import { addTinyGateModel, pictureOf } from "@atelier/testing/content-gate";
import { addNode, addOwner } from "@atelier/testing/jobs";
import { whileCut } from "@atelier/testing/postgres";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { eq, sql } from "drizzle-orm";
import sharp, { type Sharp } from "sharp";
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { endsRun, isOwnOutage } from "./fetch-result.ts";
import { finishCall, type Finished, finishRun } from "./results.ts";

let opened: TestServices;
let servers: { readonly own: Server; readonly other: Server };
let at: { readonly own: string; readonly other: string };
let picture: Buffer;
const drawing = (width: number, height: number) =>
  `<?xml version="1.0"?>\n<!-- made -->\n<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"><rect width="100%" height="50%" fill="red"/></svg>`;
const fetched: string[] = [];
/** The fetch with which `/later` has its picture. */
let laterAt = Infinity;
const isAway = (url?: string) => url === "/busy" || (url === "/later" && fetched.length < laterAt);

beforeAll(async () => {
  opened = await createTestServices();
  picture = await sharp({ create: { width: 40, height: 60, channels: 3, background: "#c05030" } })
    .png()
    .toBuffer();
  const gif = await sharp(picture).gif().toBuffer();
  const bodies = new Map<unknown, Buffer | string>([
    ["/gif", gif],
    ["/svg", drawing(40, 60)],
  ]);
  const start = async (name: string) => {
    const server = createServer(({ url, headers }, response) => {
      fetched.push(`${name}${url}`);
      if (url === "/away") response.writeHead(302, { location: `${at.other}/a.png` }).end();
      else if (isAway(url)) response.writeHead(503).end();
      else if (url?.startsWith("/elsewhere")) response.writeHead(404).end();
      else if (url === "/kept" && headers.authorization !== "Bearer k") response.writeHead(401).end();
      else if (String(url).startsWith("/signed") && headers.authorization) response.writeHead(400).end();
      else if (url === "/text") response.end(`data:image/png;base64,${picture.toString("base64")}`);
      else if (bodies.has(url)) response.end(bodies.get(url));
      else if (url === "/large") response.writeHead(200, { "content-length": 10 ** 12 }).flushHeaders();
      else response.end(picture);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return server;
  };
  servers = { own: await start("own"), other: await start("other") };
  const urlOf = (server: Server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  at = { own: urlOf(servers.own), other: urlOf(servers.other) };
});
afterAll(async () => {
  for (const server of Object.values(servers)) {
    server.closeAllConnections();
    server.close();
  }
  await opened.close();
});
beforeEach(() => void fetched.splice(0));

/** As usual, without pauses between the tries. */
const atOnce = {
  firstPauseMs: 0,
  mostPauseMs: 0,
  patienceMs: 600_000,
  outageMs: 86_400_000,
  stopMs: 30_000,
};

/** A job whose run at a provider has ended. */
async function waiting(kind: JobKind = "text_to_image", params: object = { prompt: "p" }) {
  const { services } = opened;
  const nodeId = await addNode(services, { queue: "cloud", needs: ["cloud/nano-banana"] });
  const { userId: ownerId } = await addOwner(services);
  const [id, attemptId] = [newId(), newId()];
  await services.db.insert(schema.jobs).values({
    id,
    ownerId,
    kind,
    status: "processing",
    tier: 1,
    params: { ...params },
    queue: "cloud",
    engine: "cloud",
    model: "nano-banana",
    need: "cloud/nano-banana",
    attempt: 1,
    nodeId,
    providerAttemptId: attemptId,
  });
  const [attempt] = await services.db
    .insert(schema.providerAttempts)
    .values({
      id: attemptId,
      jobId: id,
      ownerId,
      provider: "openai",
      model: "nano-banana",
      endpoint: "e",
      keyId: newId(),
      token: newId(),
      state: "accepted",
    })
    .returning();
  const job = await readJob(services, id);
  if (!job || !attempt) throw new Error("nothing was stored");
  return { job, attempt };
}

/** Takes these results, with the files of the job by role. */
async function take(
  outputs: readonly ProviderOutput[],
  more: Partial<Finished> & Awaited<ReturnType<typeof waiting>>,
) {
  const access = { name: "openai", baseUrl: `${at.own}/v1`, apiKey: "k", webhookSecret: null } as const;
  const signal = AbortSignal.timeout(120_000);
  const error = await withTempFolder(opened.services.env, (workDir) =>
    finishRun(opened.services, {
      access,
      outputs,
      costUsd: null,
      files: {},
      workDir,
      signal,
      isLastTry: false,
      ...more,
    }),
  ).catch((thrown: unknown) => thrown);
  return error instanceof ProviderError ? error.class : error;
}

test("E6 results are taken from the server itself in every form, and each one that is of use", async () => {
  const urls = ["/a.png", "/text", "/gif"].map((name) => ({ url: `${at.own}${name}` }));
  const one = await waiting();
  const outputs = [
    ...urls,
    { bytes: picture },
    { url: `${at.other}/elsewhere` },
    { bytes: Buffer.from("none") },
  ];
  expect(await take(outputs, one)).toBe(true);
  const images = await opened.services.db.query.images.findMany({
    where: (images, { eq }) => eq(images.jobId, one.job.id),
  });
  expect(images.map(({ widthPx, heightPx }) => [widthPx, heightPx])).toEqual(Array(4).fill([40, 60]));
});

test("E6 a drawing becomes a picture of a size to work with, from an address and in the answer", async () => {
  const one = await waiting();
  const drawings = [drawing(12_000, 6_000), drawing(10, 10)].map((text) => ({
    bytes: Buffer.from(text),
  }));
  const outputs = [{ url: `${at.own}/svg` }, ...drawings];
  expect(await take(outputs, one)).toBe(true);
  const images = await opened.services.db.query.images.findMany({
    where: (images, { eq }) => eq(images.jobId, one.job.id),
  });
  const sizes = images.map(({ widthPx, heightPx, mime }) => [widthPx, heightPx, mime].join(" "));
  expect(sizes.toSorted()).toEqual(["1365 2048 image/png", "2048 1024 image/png", "2048 2048 image/png"]);
});

test("E6 a page that speaks of a drawing is none, and what is no drawing behind its head neither", async () => {
  const page = Buffer.from(`<html><body><svg xmlns="http://www.w3.org/2000/svg"/></body></html>`);
  const broken = Buffer.from("<svg this is none");
  for (const bytes of [page, broken]) expect(await take([{ bytes }], await waiting())).toBe("internal");
});

test("M6 what a server leads to elsewhere is refused for good, also by a redirect, and nothing is fetched there", async () => {
  const refused = [
    `${at.other}/elsewhere`,
    `${at.own}/away`,
    "http://cdn.example.com/a.png",
    "https://10.0.0.1/elsewhere",
  ];
  for (const url of refused) expect([url, await take([{ url }], await waiting())]).toEqual([url, "internal"]);
  expect(await take([{ url: `${at.own}/large` }], await waiting())).toBe("internal");
  expect(fetched.filter((name) => name.startsWith("other"))).toEqual([]);
});

test("E6 a picture that a server names by an address of its own network is taken from where it was asked", async () => {
  const { port } = new URL(at.own);
  const named = [
    `https://127.0.0.1:${port}/a.png`,
    "http://127.0.0.1/a.png",
    "http://localhost:8080/generated-images/b64.png",
    "http://local-ai:8080/a.png",
    `${at.own}/kept`,
    `${at.own}/signed?s=1`,
    `${at.own}/signed-by-others`,
  ];
  for (const url of named) expect([url, await take([{ url }], await waiting())]).toEqual([url, true]);
  const busy = "http://localhost:8080/busy";
  expect(await take([{ url: busy }], await waiting())).toBe("transient");
});

test("a result that is away is waited for, until the last try takes the others", async () => {
  const one = await waiting();
  const outputs = [{ url: `${at.own}/busy` }, { url: `${at.own}/a.png` }];
  expect(await take(outputs, one)).toBe("transient");
  expect(await take(outputs, { ...one, isLastTry: true })).toBe(true);
  expect(await take([{ url: `${at.own}/busy` }], { ...(await waiting()), isLastTry: true })).toBe(
    "transient",
  );
});

test("a result of another shape than asked for is told in the story", async () => {
  const one = await waiting("text_to_image", { prompt: "p", width: 1_024, height: 1_024 });
  expect(await take([{ bytes: picture }], one)).toBe(true);
  const story = await readAnyStory(opened.services, { id: one.job.id });
  expect(story.events.at(-1)?.data).toMatchObject({ shape: { asked: "1024 × 1024", made: "40 × 60" } });
});

test("S5 a result that the gate refuses ends the run, at its price; of several the others are kept", async () => {
  const before = opened;
  const config = parseConfig({ safety: { refuseResults: { text_to_image: 0.8 } } });
  opened = { ...before, services: { ...before.services, config } };
  try {
    await addTinyGateModel(opened.services.env);
    const [red, green] = [await pictureOf("red"), await pictureOf("green")];
    const one = await waiting();
    expect(await take([{ bytes: red }], one)).toBe("gate");
    const { job } = one;
    const images = opened.services.db.$count(schema.images, eq(schema.images.jobId, job.id));
    expect(await images).toBe(0);
    const { attempt } = one;
    const error = new ProviderError("gate", "refused");
    await endCall(opened.services, { attempt }, { as: "failed", error, costUsd: 0.04 });
    const ended = await readJob(opened.services, job.id);
    expect(ended).toMatchObject({ status: "failed", errorCode: "result_refused" });
    const [charged] = await opened.services.db
      .select({ costUsd: schema.providerAttempts.costUsd })
      .from(schema.providerAttempts)
      .where(eq(schema.providerAttempts.id, attempt.id));
    expect(Number(charged?.costUsd)).toBe(0.04);
    const several = await waiting();
    expect(await take([{ bytes: red }, { bytes: green }], several)).toBe(true);
    const kept = opened.services.db.$count(schema.images, eq(schema.images.jobId, several.job.id));
    expect(await kept).toBe(1);
  } finally {
    opened = before;
  }
});

/** A picture whose head is whole and whose pixels are not. */
async function damagedPicture(): Promise<Buffer> {
  const noise = { type: "gaussian", mean: 128, sigma: 40 } as const;
  const whole = await sharp({ create: { width: 90, height: 60, channels: 3, background: "#000", noise } })
    .png()
    .toBuffer();
  return whole.subarray(0, whole.length / 2);
}

test("E6 of several results a damaged one is left out; alone it is an end that no other try would change", async () => {
  const bytes = await damagedPicture();
  const several = await waiting();
  expect(await take([{ bytes }, { bytes: picture }, { bytes }], several)).toBe(true);
  const { places, ofPictures } = await placesOf(several.job.id);
  expect(ofPictures).toHaveLength(1);
  expect(places).toEqual(ofPictures);
  const error = await take([{ bytes }], await waiting());
  expect(error).toMatchObject({ code: "engine_failed" });
  expect([endsRun(error), isOwnOutage(error)]).toEqual([true, false]);
});

test("E6 a damaged result that would be pasted into its picture is left out, too", async () => {
  const bytes = await damagedPicture();
  await withTempFolder(opened.services.env, async (folder) => {
    const files = { image: path.join(folder, "image"), mask: path.join(folder, "mask") };
    await writeFile(files.image, picture);
    await sharp({ create: { width: 40, height: 60, channels: 3, background: "#fff" } })
      .png()
      .toFile(files.mask);
    expect(await take([{ bytes }], { ...(await waiting("inpaint")), files })).toBe("unstored");
    expect(await take([{ bytes }, { bytes: picture }], { ...(await waiting("inpaint")), files })).toBe(true);
    const gone = { ...files, image: path.join(folder, "gone") };
    const error = await take([{ bytes: picture }], { ...(await waiting("inpaint")), files: gone });
    expect(error).toMatchObject({ message: expect.stringContaining("missing") });
    expect(endsRun(error)).toBe(false);
  });
});

test.each(["toBuffer", "metadata"] as const)(
  "E6 a bought result that %s has no memory for is taken at a later try",
  async (reading) => {
    const folder = await mkdtemp(path.join(os.tmpdir(), "atelier-memory-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const files = { image: path.join(folder, "image"), mask: path.join(folder, "mask") };
    const [gif, webp] = [await sharp(picture).gif().toBuffer(), await sharp(picture).webp().toBuffer()];
    await writeFile(files.image, picture);
    await sharp({ create: { width: 40, height: 60, channels: 3, background: "#fff" } })
      .png()
      .toFile(files.mask);
    const prototype = Object.getPrototypeOf(sharp(picture)) as Sharp;
    for (const [kind, bytes] of [
      ["text_to_image", picture],
      ["text_to_image", gif],
      ["inpaint", webp],
    ] as const) {
      const run = { ...(await waiting(kind)), files };
      const said = "Input buffer has corrupt header: vips_tracked: out of memory -- size == 244MB";
      const spy = vi.spyOn(prototype, reading).mockRejectedValue(new Error(said));
      const error = await take([{ bytes }], run).finally(() => spy.mockRestore());
      expect(error).toBeInstanceOf(Error);
      expect(endsRun(error)).toBe(false);
      expect(await take([{ bytes }], run)).toBe(true);
    }
  },
);

test.each([
  ["a full disk", Object.assign(new Error("no space left"), { code: "ENOSPC" }), false, true],
  ["a store that is away", new AppError("storage_unavailable"), false, true],
  ["a gate that does not run", new AppError("gate_unavailable"), false, true],
  ["too little memory", new AppError("out_of_memory"), false, false],
  [
    "a child that was killed",
    new AppError("engine_failed", undefined, { details: { signal: "SIGKILL" } }),
    false,
    false,
  ],
  ["a fault without a name", new Error("odd"), false, false],
  ["an input that is gone", new AppError("input_missing"), true, false],
  ["a mask of another size", new AppError("mask_size"), true, false],
  ["a refusal of the gate", new ProviderError("gate", "refused"), true, false],
  ["an address that is away", new ProviderError("transient", "HTTP 503"), false, false],
] as const)("E6 what ends a run, and what is waited for: %s", (_name, error, ends, isOutage) => {
  expect([endsRun(error), isOwnOutage(error)]).toEqual([ends, isOutage]);
});

test("F10 a bought result that cannot be stored is not bought again, and its job names the store", async () => {
  const config = parseConfig({ cloud: { onLostReply: "next", onLateFailure: "next" } });
  const services = { ...opened.services, config };
  const { job, attempt } = await waiting();
  const put = vi.spyOn(services.disk, "put").mockRejectedValue(new AppError("storage_unavailable"));
  const access = { name: "openai", baseUrl: `${at.own}/v1`, apiKey: "k", webhookSecret: null } as const;
  try {
    const outcome = await withTempFolder(services.env, (workDir) => {
      const outputs = [{ bytes: picture }];
      const signal = AbortSignal.timeout(120_000);
      const run = { job, attempt, access, outputs, costUsd: 0.04, files: {}, workDir, signal };
      return finishCall(services, run, { ...atOnce, outageMs: 0 });
    });
    expect(outcome).toBe("failed");
  } finally {
    put.mockRestore();
  }
  expect(await readJob(services, job.id)).toMatchObject({
    status: "failed",
    errorCode: "storage_unavailable",
  });
  expect(await attemptsOf(services.db, job.id)).toMatchObject([
    { state: "failed", errorClass: "unstored", costUsd: 0.04 },
  ]);
});

test.each([
  ["the store takes only some of it", "put", "storage_unavailable"],
  ["the job no longer waits for it", "complete", false],
] as const)(
  "F36 a result is left to a store that removes nothing where %s, and removed later",
  async (_, at, end) => {
    const { services } = opened;
    const { job, attempt } = await waiting();
    const { driver } = services.disk;
    const remove = driver.removeBelow.bind(driver);
    const put = services.disk.put.bind(services.disk);
    const { promise: isBack, resolve: comeBack } = Promise.withResolvers<void>();
    const silent: string[] = [];
    const spies = [
      vi.spyOn(driver, "removeBelow").mockImplementation(async (prefix) => {
        silent.push(prefix);
        await isBack;
        await remove(prefix);
      }),
      vi.spyOn(services.disk, "put").mockImplementation(async (key, ...given) => {
        if (at === "put" && key.includes("/1/")) throw new AppError("storage_unavailable");
        await put(key, ...given);
      }),
    ];
    const stored = async () => {
      const keys: string[] = [];
      for await (const page of listObjects(services.disk, `jobs/${job.id}`))
        keys.push(...page.map(({ key }) => key));
      return keys;
    };
    try {
      if (at === "complete")
        await services.db
          .update(schema.jobs)
          .set({ status: "cancelled", endedAt: new Date() })
          .where(eq(schema.jobs.id, job.id));
      const taken = await take([{ bytes: picture }, { bytes: picture }], { job, attempt });
      expect(isAppError(taken) ? taken.code : taken).toBe(end);
      expect(silent).not.toEqual([]);
      expect(await stored()).not.toEqual([]);
      comeBack();
      await vi.waitFor(async () => expect(await stored()).toEqual([]));
    } finally {
      comeBack();
      for (const spy of spies) spy.mockRestore();
    }
  },
);

/** What a synchronous provider made is taken, from an address; `signal` aborts when its worker stops. */
async function takeMade(
  { job, attempt }: Awaited<ReturnType<typeof waiting>>,
  { url = `${at.own}/a.png`, signal = new AbortController().signal } = {},
) {
  const { services } = opened;
  const access = { name: "openai", baseUrl: `${at.own}/v1`, apiKey: "k", webhookSecret: null } as const;
  return withTempFolder(services.env, (workDir) => {
    const outputs = [{ url }];
    const run = { job, attempt, access, outputs, costUsd: 0.04, files: {}, workDir, signal };
    return finishCall(services, run, atOnce);
  });
}

/** The places of the store that have files of a job, and those of its pictures. */
async function placesOf(jobId: string) {
  const { services } = opened;
  const images = await services.db.select().from(schema.images).where(eq(schema.images.jobId, jobId));
  const places = new Set<string>();
  for await (const page of listObjects(services.disk, `jobs/${jobId}`))
    for (const { key } of page) places.add(path.dirname(key));
  return { places: [...places], ofPictures: images.map(({ storageKey }) => storageKey) };
}

test("F10 a bought result is fetched and stored once, although the database goes away as its job ends", async () => {
  const one = await waiting();
  const cut = { table: "jobs", when: "new.status = 'completed'", times: 3 };
  expect(await whileCut(opened.services, cut, () => takeMade(one))).toBe("completed");
  expect(fetched).toEqual(["own/a.png"]);
  const { places, ofPictures } = await placesOf(one.job.id);
  expect(ofPictures).toHaveLength(1);
  expect(places).toEqual(ofPictures);
});

/** While `work` runs, the database is away for so long as a job is to be ended. */
async function whileAway<T>(mostMs: number, work: () => Promise<T>): Promise<T> {
  const { db } = opened.services;
  const transaction = db.transaction.bind(db);
  let nowMs = 0;
  const spies = [
    vi.spyOn(performance, "now").mockImplementation(() => nowMs),
    vi.spyOn(db, "transaction").mockImplementation((...given) => {
      if (nowMs >= mostMs) return transaction(...given);
      nowMs += attemptHoldMs;
      return Promise.reject(Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" }));
    }),
  ];
  try {
    return await work();
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}

test("F10 a bought result that is stored waits for the database longer than its call is held", async () => {
  const one = await waiting();
  expect(await whileAway(3 * attemptHoldMs, () => takeMade(one))).toBe("completed");
  expect(fetched).toEqual(["own/a.png"]);
  const { places, ofPictures } = await placesOf(one.job.id);
  expect(ofPictures).toHaveLength(1);
  expect(places).toEqual(ofPictures);
  expect(await attemptsOf(opened.services.db, one.job.id)).toMatchObject([{ state: "succeeded" }]);
});

test("F10 R1 a bought result that is of no use ends its call at its price, although the database is away for longer than that is held", async () => {
  const one = await waiting();
  const took = await whileAway(3 * attemptHoldMs, () => takeMade(one, { url: `${at.own}/large` }));
  expect(took).toBe("failed");
  expect(await attemptsOf(opened.services.db, one.job.id)).toMatchObject([
    { state: "failed", errorClass: "internal", costUsd: 0.04 },
  ]);
});

/** A clock that goes on by so much with each fetch from the server. */
function clockOfFetches(stepMs: number) {
  const spy = vi.spyOn(performance, "now").mockImplementation(() => fetched.length * stepMs);
  return () => spy.mockRestore();
}

test("F10 a bought result is fetched for minutes while its host has none, and then ends at its price", async () => {
  const stopClock = clockOfFetches(10_000);
  try {
    const url = `${at.own}/later`;
    laterAt = 50;
    expect(await takeMade(await waiting(), { url })).toBe("completed");
    expect(fetched).toHaveLength(laterAt);
    laterAt = Infinity;
    fetched.splice(0);
    const one = await waiting();
    expect(await takeMade(one, { url })).toBe("failed");
    expect(fetched.length).toBeLessThan(100);
    expect(await attemptsOf(opened.services.db, one.job.id)).toMatchObject([
      { state: "failed", errorClass: "transient", costUsd: 0.04 },
    ]);
  } finally {
    stopClock();
  }
});

/** Between two tries so much time goes by that the sweep would take a folder in which nothing happened. */
async function sweepLater({ env, config }: TestServices["services"]): Promise<void> {
  const mostMs = tempFolderMs(config);
  await sweepTempFolders(env, mostMs);
  const past = new Date(Date.now() - 2 * mostMs);
  for (const name of await readdir(tempRoot(env))) await utimes(path.join(tempRoot(env), name), past, past);
}

test("F10 a bought result is fetched once and waits for hours while the store is away, and then ends at its price", async () => {
  const { services } = opened;
  const hour = 3_600_000;
  const [stays, ends, stops] = [await waiting(), await waiting(), await waiting()];
  // Each try has a place of its own.
  const tries = new Set<string>();
  let isBackAt = 20;
  const clock = vi.spyOn(performance, "now").mockImplementation(() => tries.size * hour);
  const real = services.disk.put.bind(services.disk);
  const put = vi.spyOn(services.disk, "put").mockImplementation(async (...given) => {
    const count = tries.size;
    tries.add(path.dirname(given[0]));
    if (tries.size > count) await sweepLater(services);
    return tries.size < isBackAt ? Promise.reject(new AppError("storage_unavailable")) : real(...given);
  });
  try {
    expect(await takeMade(stays)).toBe("completed");
    expect(fetched).toEqual(["own/a.png"]);
    tries.clear();
    isBackAt = Infinity;
    expect(await takeMade(ends)).toBe("failed");
    expect(tries.size).toBe(25);
    expect(await attemptsOf(services.db, ends.job.id)).toMatchObject([
      { state: "failed", errorClass: "unstored", costUsd: 0.04 },
    ]);
    tries.clear();
    const signal = AbortSignal.abort(new Error("the worker stops"));
    expect(await takeMade(stops, { signal })).toBe("failed");
    expect(tries.size).toBe(2);
  } finally {
    put.mockRestore();
    clock.mockRestore();
  }
});

test("F10 a worker that stops waits half a minute for a bought result, not minutes", async () => {
  const stopClock = clockOfFetches(10_000);
  try {
    const url = `${at.own}/later`;
    const signal = AbortSignal.abort(new Error("the worker stops"));
    laterAt = 3;
    expect(await takeMade(await waiting(), { url, signal })).toBe("completed");
    laterAt = Infinity;
    fetched.splice(0);
    expect(await takeMade(await waiting(), { url, signal })).toBe("failed");
    expect(fetched.length).toBeLessThan(6);
  } finally {
    stopClock();
  }
});

test("F10 R1 the end of a call waits for the database as long as no other process takes the call over", async () => {
  const { services } = opened;
  const { attempt } = await waiting();
  const db: typeof services.db = Object.create(services.db);
  db.$count = vi.fn<() => Promise<number>>().mockResolvedValue(1) as never;
  const end = (transaction: () => Promise<null>) => {
    db.transaction = transaction as never;
    const made = { as: "made", outputs: [], costUsd: null, shape: null } as const;
    return endCall({ ...services, db }, { attempt }, made);
  };
  let nowMs = 0;
  const clock = vi.spyOn(performance, "now").mockImplementation(() => nowMs);
  const away = () => {
    nowMs += attemptHoldMs / 2;
    return Promise.reject(Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" }));
  };
  try {
    const write = vi.fn<() => Promise<null>>(away).mockImplementationOnce(away).mockResolvedValueOnce(null);
    expect(await end(write)).toBe("completed");
    await expect(end(away)).rejects.toThrow("ECONNRESET");
    expect(nowMs).toBeGreaterThan(attemptHoldMs);
  } finally {
    clock.mockRestore();
  }
});

test.each([
  ["called at once", (one: Awaited<ReturnType<typeof waiting>>) => takeMade(one), "completed"],
  ["followed", (one: Awaited<ReturnType<typeof waiting>>) => take([{ url: `${at.own}/a.png` }], one), true],
] as const)("F10 the files of a result that was stored without an answer stay: %s", async (_, work, end) => {
  const { db } = opened.services;
  const one = await waiting();
  const real = db.transaction.bind(db);
  const spy = vi.spyOn(db, "transaction").mockImplementationOnce(async (...given) => {
    await real(...given);
    throw Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
  });
  try {
    expect(await work(one)).toBe(end);
  } finally {
    spy.mockRestore();
  }
  expect(fetched).toEqual(["own/a.png"]);
  const { places, ofPictures } = await placesOf(one.job.id);
  expect(ofPictures).toHaveLength(1);
  expect(places).toEqual(ofPictures);
  expect(await readJob(opened.services, one.job.id)).toMatchObject({ status: "completed" });
});

test("F10 a bought result whose job cannot be completed is not bought again, and fetched once", async () => {
  const { services } = opened;
  const one = await waiting();
  await services.db.execute(sql`
    create function refuse_end() returns trigger language plpgsql as $$ begin raise 'no'; end $$`);
  await services.db.execute(sql`
    create trigger refuse_end before update on jobs for each row when (new.status = 'completed') execute function refuse_end()`);
  try {
    expect(await takeMade(one)).toBe("failed");
  } finally {
    await services.db.execute(sql`drop function refuse_end cascade`);
  }
  expect(fetched).toEqual(["own/a.png"]);
  expect(await attemptsOf(services.db, one.job.id)).toMatchObject([
    { state: "failed", errorClass: "unstored", costUsd: 0.04 },
  ]);
});

const box = { left: 2_000, top: 100, width: 200, height: 80 };
const size = { width: 4_500, height: 300 };

const plain = (of: { readonly width: number; readonly height: number }, background: string) =>
  sharp({ create: { ...of, channels: 3, background } });
const rgbOf = (bytes: Uint8Array) => sharp(bytes).removeAlpha().raw().toBuffer();

/** The red of each pixel outside of the box. */
function outside(rgb: Uint8Array): Uint8Array {
  const isInside = (x: number, y: number) =>
    x >= box.left && x < box.left + box.width && y >= box.top && y < box.top + box.height;
  return rgb.filter((_, at) => {
    const pixel = Math.floor(at / 3);
    return at % 3 === 0 && !isInside(pixel % size.width, Math.floor(pixel / size.width));
  });
}

/** Red on the left and blue on the right, but stored upside down with a note that says so, as cameras do. */
async function turned(of: { readonly width: number; readonly height: number }): Promise<Buffer> {
  const left = await plain({ ...of, width: of.width / 2 }, "#ff0000")
    .png()
    .toBuffer();
  const upright = await plain(of, "#0000ff")
    .composite([{ input: left, left: 0, top: 0 }])
    .png()
    .toBuffer();
  return sharp(upright).rotate(180).withMetadata({ orientation: 3 }).png().toBuffer();
}

const smaller = { width: 4_096, height: 273 };

test.each([
  ["a smaller one", () => plain(smaller, "#ff0000").png().toBuffer()],
  ["a turned one", () => turned(smaller)],
])("what a mask leaves out of a large picture stays bit for bit, also when %s came back", async (_, make) => {
  const noise = { type: "gaussian", mean: 128, sigma: 40 } as const;
  const source = await sharp({ create: { ...size, channels: 3, background: "#567", noise } })
    .png()
    .toBuffer();
  const white = await plain(box, "#fff").png().toBuffer();
  const mask = await plain(size, "#000")
    .composite([{ input: white, left: box.left, top: box.top }])
    .png()
    .toBuffer();
  const made = await make();
  const one = await waiting("inpaint", { prompt: "p" });
  await withTempFolder(opened.services.env, async (folder) => {
    const files = { image: path.join(folder, "image"), mask: path.join(folder, "mask") };
    await writeFile(files.image, source);
    await writeFile(files.mask, mask);
    expect(await take([{ bytes: made }], { ...one, files })).toBe(true);
  });
  const [image] = await opened.services.db.query.images.findMany({
    where: (images, { eq }) => eq(images.jobId, one.job.id),
  });
  const stored = await opened.services.disk.getBytes(`${image?.storageKey}/original.png`);
  const [before, after] = await Promise.all([rgbOf(source), rgbOf(stored)]);
  expect([image?.widthPx, image?.heightPx]).toEqual([size.width, size.height]);
  expect(Buffer.compare(outside(before), outside(after))).toBe(0);
  const middle = ((box.top + 40) * size.width + box.left + 100) * 3;
  expect([...after.subarray(middle, middle + 3)]).toEqual([255, 0, 0]);
});
