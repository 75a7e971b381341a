import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { type JobKind, type Need } from "@atelier/server/engines";
import { startIopaintSimulator, type IopaintOptions, type IopaintSimulator } from "@atelier/testing/iopaint";
import pino from "pino";
import sharp from "sharp";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createServerPool, createSources, type ServerPool, type ServerState } from "../../servers/index.ts";
import type { EngineContext, EngineTask } from "../port.ts";
import { createIopaintEngine } from "./create-iopaint-engine.ts";

const size = { width: 120, height: 80 };
const endings: (() => Promise<unknown>)[] = [];
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), "atelier-iopaint-"));
});
afterEach(async () => {
  for (const end of endings.splice(0).toReversed()) await end();
  await rm(folder, { recursive: true });
});

async function startServer(options: IopaintOptions = {}): Promise<IopaintSimulator> {
  const server = await startIopaintSimulator(options);
  endings.push(() => server.close());
  return server;
}

interface Limits {
  readonly answerLimitMs?: number;
  readonly abandonMs?: number;
  readonly probeMs?: number;
}

async function openEngine(servers: readonly IopaintSimulator[], { probeMs = 100, ...limits }: Limits = {}) {
  const pool = createServerPool({
    sources: createSources({
      COMFYUI_URLS: [],
      COMFYUI_DISCOVERY: [],
      IOPAINT_URLS: servers.map(({ url }) => url),
    }),
    workflows: () => [],
    config: {
      timing: { probeMs, probeTimeoutMs: 2_000, discoverMs: 1_000, objectInfoMs: 1_000 },
      limits: { serverMemoryFailures: 2 },
    },
    log: pino({ level: "silent" }),
  });
  const engine = createIopaintEngine({ pool, ...limits });
  endings.push(
    () => pool.stop(),
    () => engine.close(),
  );
  await pool.start();
  return { pool, engine };
}

/** Colours that vary from pixel to pixel, and transparency in one corner where it is asked for. */
async function drawPicture(name: string, channels: 3 | 4 = 3): Promise<string> {
  const data = Buffer.alloc(size.width * size.height * channels);
  for (let i = 0; i < data.length; i++)
    data[i] = channels === 4 && i % 4 === 3 ? (i < 20_000 ? 90 : 255) : (i * 37 + (i >> 5)) % 251;
  const file = path.join(folder, name);
  const picture = sharp(data, { raw: { ...size, channels } });
  await (name.endsWith(".jpg") ? picture.jpeg({ quality: 90 }) : picture.png()).toFile(file);
  return file;
}

async function drawMask(maskSize = size): Promise<string> {
  const file = path.join(folder, "mask.png");
  const white = { create: { width: 40, height: 30, channels: 3, background: "#fff" } } as const;
  await sharp({ create: { ...maskSize, channels: 3, background: "#000" } })
    .composite([{ input: await sharp(white).png().toBuffer(), left: 20, top: 10 }])
    .removeAlpha()
    .toColourspace("b-w")
    .png()
    .toFile(file);
  return file;
}

let tasks = 0;
async function taskOf(kind: JobKind, changes: Partial<EngineTask> = {}): Promise<EngineTask> {
  tasks += 1;
  const workDir = await mkdtemp(path.join(folder, "work-"));
  const need: Need = `iopaint/${kind}`;
  const nothing = { attempt: 1, workflow: null, avoid: [], submission: null, params: {} };
  return { jobId: `job-${tasks}`, kind, need, ...nothing, inputs: {}, workDir, ...changes };
}

function contextOf(signal = new AbortController().signal) {
  const fractions: number[] = [];
  const context: EngineContext = {
    signal,
    onBegin: () => undefined,
    onProgress: (fraction) => fractions.push(fraction),
    onPreview: () => undefined,
    onSubmitting: async () => undefined,
  };
  return { context, fractions };
}

function until(pool: ServerPool, isSo: (server: ServerState) => boolean): Promise<void> {
  return new Promise((resolve) => {
    const look = () => {
      const [server] = pool.list();
      if (!server || !isSo(server)) return;
      unsubscribe();
      resolve();
    };
    const unsubscribe = pool.onChange(look);
    look();
  });
}

const pixelsOf = (file: string) => sharp(file).raw().toBuffer();
const greyOf = (file: string) => sharp(file).extractChannel(0).raw().toBuffer();

test("A10 D1 the kinds of a server follow from its model and plugins", async () => {
  const servers = [
    await startServer({ model: "runwayml/stable-diffusion-inpainting", plugins: ["RemoveBG"] }),
    await startServer({ model: "cv2", plugins: ["RestoreFormer", "InteractiveSeg"] }),
    await startServer(),
  ];
  const { pool } = await openEngine(servers);
  expect(pool.list()).toMatchObject([
    {
      needs: ["iopaint/remove_background"],
      missing: { inpaint: [expect.stringContaining("without words")] },
    },
    {
      engine: "iopaint",
      state: "healthy",
      needs: ["iopaint/inpaint", "iopaint/restore_faces"],
      models: ["cv2"],
    },
    {
      needs: ["iopaint/inpaint", "iopaint/upscale", "iopaint/remove_background", "iopaint/restore_faces"],
    },
  ]);
});

test.each([
  ["photo.jpg", 3],
  ["clear.png", 4],
] as const)(
  "D1 inpaint of %s changes what is marked and not one bit outside of it",
  async (name, channels) => {
    const { engine, pool } = await openEngine([await startServer()]);
    const [image, mask] = [await drawPicture(name, channels), await drawMask()];
    const maskPath = path.join(folder, "changed.png");
    const task = await taskOf("inpaint", { inputs: { image, mask }, maskPath });
    const { context, fractions } = contextOf();
    const [output] = await engine.run(task, context);
    if (!output) throw new Error("no output");
    expect(output).toMatchObject({ mime: "image/png", facts: { server: pool.list()[0]?.label } });
    const [before, after, marked] = await Promise.all([pixelsOf(image), pixelsOf(output.path), greyOf(mask)]);
    const counts = { inside: 0, outside: 0 };
    expect(after.length).toBe(before.length);
    before.forEach((value, i) => {
      if (value !== after[i]) counts[marked[Math.floor(i / channels)] ? "inside" : "outside"] += 1;
    });
    expect(counts.outside).toBe(0);
    expect(counts.inside).toBeGreaterThan(1_000);
    expect((await greyOf(maskPath)).equals(marked)).toBe(true);
    expect(fractions).toEqual(fractions.toSorted((a, b) => a - b));
    expect(fractions.at(-1)).toBe(1);
  },
);

test.each([
  ["upscale", { scale: 2 }, { width: 240, height: 160, channels: 3 }],
  ["upscale", { scale: 4 }, { width: 480, height: 320, channels: 3 }],
  ["remove_background", {}, { ...size, channels: 4 }],
  ["restore_faces", {}, { ...size, channels: 3 }],
] as const)("D1 %s %o is made by a plugin and gives a whole picture", async (kind, params, expected) => {
  const { engine } = await openEngine([await startServer()]);
  const task = await taskOf(kind, { params, inputs: { image: await drawPicture("photo.jpg") } });
  const [output] = await engine.run(task, contextOf().context);
  expect(await sharp(output?.path).metadata()).toMatchObject({ format: "png", ...expected });
});

test("D1 faces are restored by whichever plugin the server has", async () => {
  const server = await startServer({ plugins: ["RestoreFormer"] });
  const { engine } = await openEngine([server]);
  const task = await taskOf("restore_faces", { inputs: { image: await drawPicture("photo.jpg") } });
  await engine.run(task, contextOf().context);
  expect(server.stats().plugins).toEqual({ RestoreFormer: 1 });
});

test("D1 a server has one job at once, two servers have one each", async () => {
  const servers = [await startServer({ workMs: 50 }), await startServer({ workMs: 50 })];
  const { engine } = await openEngine(servers);
  const image = await drawPicture("photo.jpg");
  const runs = Array.from({ length: 6 }, async () =>
    engine.run(await taskOf("restore_faces", { inputs: { image } }), contextOf().context),
  );
  await Promise.all(runs);
  expect(servers.map((server) => server.stats().mostAtOnce)).toEqual([1, 1]);
  expect(servers.map((server) => server.stats().plugins["GFPGAN"])).toEqual([3, 3]);
});

test("D6 a cancelled run ends at once, its server stays busy until it has answered", async () => {
  const server = await startServer({ workMs: 700 });
  const { engine, pool } = await openEngine([server]);
  const image = await drawPicture("photo.jpg");
  const cancel = new AbortController();
  const cancelled = await taskOf("restore_faces", { inputs: { image } });
  const run = engine.run(cancelled, contextOf(cancel.signal).context);
  await until(pool, () => server.stats().mostAtOnce === 1);
  cancel.abort(new Error("cancelled"));
  await expect(run).rejects.toThrow("cancelled");
  expect(server.stats().plugins).toEqual({});
  expect(pool.list()[0]?.jobId).toBe(cancelled.jobId);
  await engine.run(await taskOf("restore_faces", { inputs: { image } }), contextOf().context);
  expect(server.stats()).toMatchObject({ plugins: { GFPGAN: 2 }, mostAtOnce: 1 });
});

test("D6 a run that is cancelled while it waits for a server gives up its place", async () => {
  const server = await startServer();
  const { engine, pool } = await openEngine([server]);
  const held = await pool.acquire({
    need: "iopaint/restore_faces",
    jobId: "other",
    avoid: [],
    prefer: null,
    signal: new AbortController().signal,
  });
  const cancel = new AbortController();
  const task = await taskOf("restore_faces", { inputs: { image: await drawPicture("photo.jpg") } });
  const run = engine.run(task, contextOf(cancel.signal).context);
  cancel.abort(new Error("cancelled"));
  await expect(run).rejects.toThrow("cancelled");
  held?.release();
  expect(pool.list()[0]?.jobId).toBeNull();
});

test.each([
  ["gpu-out-of-memory", "gpu_out_of_memory"],
  ["cpu-out-of-memory", "out_of_memory"],
  ["error", "engine_failed"],
  ["garbage", "engine_failed"],
  ["html", "proxy_error"],
  ["lost-answer", "server_lost"],
] as const)("D8 a server's %s is the error %s", async (kind, code) => {
  const server = await startServer();
  // A probe would use up the fault.
  const { engine, pool } = await openEngine([server], { probeMs: 60_000 });
  server.inject({ kind });
  const inputs = { image: await drawPicture("photo.jpg"), mask: await drawMask() };
  const run = engine.run(await taskOf("inpaint", { inputs }), contextOf().context);
  await expect(run).rejects.toMatchObject({ code, details: { server: server.url } });
  await until(pool, ({ jobId }) => jobId === null);
});

test("F27 D8 a server out of memory twice rests and comes back", async () => {
  const server = await startServer();
  const { engine, pool } = await openEngine([server]);
  server.inject({ kind: "gpu-out-of-memory", times: 2 });
  const inputs = { image: await drawPicture("photo.jpg"), mask: await drawMask() };
  for (let run = 0; run < 2; run++)
    await expect(engine.run(await taskOf("inpaint", { inputs }), contextOf().context)).rejects.toMatchObject({
      code: "gpu_out_of_memory",
    });
  expect(pool.list()[0]?.state).toBe("degraded");
  await expect(engine.run(await taskOf("inpaint", { inputs }), contextOf().context)).rejects.toMatchObject({
    code: "server_busy",
  });
  await until(pool, ({ state }) => state === "healthy");
  await engine.run(await taskOf("inpaint", { inputs }), contextOf().context);
});

test("F25 a server killed in mid-job is lost and out of rotation, and used again when it is back", async () => {
  const server = await startServer({ workMs: 60_000 });
  const { engine, pool } = await openEngine([server]);
  const inputs = { image: await drawPicture("photo.jpg"), mask: await drawMask() };
  const run = engine.run(await taskOf("inpaint", { inputs }), contextOf().context);
  await until(pool, ({ jobId }) => jobId !== null);
  const [ended] = await Promise.allSettled([run, server.kill()]);
  expect(ended).toMatchObject({ status: "rejected", reason: { code: "server_lost" } });
  await until(pool, ({ state }) => state === "down");
  await server.start();
  await until(pool, ({ state, jobId }) => state === "healthy" && jobId === null);
});

test("F28 a server that never answers is given up at its limit", async () => {
  const server = await startServer();
  const { engine, pool } = await openEngine([server], { answerLimitMs: 400 });
  server.inject({ kind: "hang" });
  const inputs = { image: await drawPicture("photo.jpg"), mask: await drawMask() };
  const run = engine.run(await taskOf("inpaint", { inputs }), contextOf().context);
  await expect(run).rejects.toMatchObject({ code: "server_lost" });
  await until(pool, ({ jobId }) => jobId === null);
});

test("F28 D6 a server that still does not answer a while after a cancel is taken for lost", async () => {
  const server = await startServer();
  const { engine, pool } = await openEngine([server], { abandonMs: 300 });
  server.inject({ kind: "hang" });
  const inputs = { image: await drawPicture("photo.jpg"), mask: await drawMask() };
  const cancel = new AbortController();
  const run = engine.run(await taskOf("inpaint", { inputs }), contextOf(cancel.signal).context);
  await until(pool, () => server.stats().mostAtOnce === 1);
  cancel.abort(new Error("cancelled"));
  await expect(run).rejects.toThrow("cancelled");
  expect(pool.list()[0]?.jobId).not.toBeNull();
  await until(pool, ({ jobId, state }) => jobId === null && state === "down");
});

test("D8 wrong inputs are told before a server is asked", async () => {
  const server = await startServer();
  const { engine } = await openEngine([server]);
  const image = await drawPicture("photo.jpg");
  const mask = await drawMask({ width: 64, height: 64 });
  const { context } = contextOf();
  const runs: [JobKind, EngineTask["inputs"], string][] = [
    ["inpaint", { image, mask }, "mask_size"],
    ["inpaint", { image }, "input_missing"],
    ["upscale", { image: mask.replace("mask", "nothing") }, "upload_unreadable"],
    ["text_to_image", {}, "no_engine"],
  ];
  for (const [kind, inputs, code] of runs)
    await expect(engine.run(await taskOf(kind, { inputs }), context)).rejects.toMatchObject({ code });
  expect(server.stats().inpaints).toBe(0);
});

test("A17 an engine that closes ends its requests", async () => {
  const server = await startServer({ workMs: 60_000 });
  const { engine, pool } = await openEngine([server]);
  const inputs = { image: await drawPicture("photo.jpg"), mask: await drawMask() };
  const run = engine.run(await taskOf("inpaint", { inputs }), contextOf().context);
  await until(pool, ({ jobId }) => jobId !== null);
  const [ended] = await Promise.allSettled([run, engine.close()]);
  expect(ended.status).toBe("rejected");
  expect(pool.list()[0]).toMatchObject({ jobId: null, state: "healthy" });
});
