import { writeFile } from "node:fs/promises";
import path from "node:path";
import { builtInWorkflows } from "@atelier/server/workflows";
import type { ComfySimulator, Guard } from "@atelier/testing/comfyui";
import pino from "pino";
import sharp from "sharp";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { forCasesInTurn, inAll } from "@atelier/testing/cases";
import { newContext, openScene, type Scene } from "../engines/comfyui/fixtures/open-scene.ts";
import { createComfyuiEngine } from "../engines/comfyui/engine.ts";
import { checkServers, createServerPool, createSources, type ServerPool } from "./index.ts";

const waiting = { timeout: 20_000 };
let scene: Scene;
beforeEach(async () => {
  scene = await openScene();
});
afterEach(() => scene.close());

const stateOf = (pool: ServerPool, { url }: ComfySimulator) =>
  pool.list().find((server) => server.url === url)?.state;
const untilState = (pool: ServerPool, server: ComfySimulator, state: string | undefined) =>
  vi.waitUntil(() => stateOf(pool, server) === state, waiting);
const newTask = () => scene.newTask({ workflow: "t2i_sd15" });

test(
  "F25 a server killed in mid-job is out of rotation at once; restarted empty it takes jobs again",
  inAll,
  async () => {
    const [a, b] = [await scene.startServer(), await scene.startServer()];
    a.inject({ kind: "hang" });
    const { engine, pool } = await scene.openEngine(a, b);
    const run = engine.run(newTask(), newContext().context);
    await vi.waitUntil(() => a.prompts()[0]?.started === 1, waiting);
    const [ended] = await Promise.allSettled([run, a.kill()]);
    expect(ended).toMatchObject({ status: "rejected", reason: { code: "server_lost" } });
    expect(stateOf(pool, a)).toBe("down");
    for (let each = 0; each < 3; each++)
      expect(await engine.run(newTask(), newContext().context)).toHaveLength(1);
    expect(b.prompts()).toHaveLength(3);
    await a.start();
    await untilState(pool, a, "healthy");
    await Promise.all([
      engine.run(newTask(), newContext().context),
      engine.run(newTask(), newContext().context),
    ]);
    expect(a.prompts().at(-1)?.finished).toBe(1);
  },
);

const tokens = [
  ["a bearer token", { headers: { authorization: "Bearer secret-1" } }],
  ["a key", { headers: { "x-api-key": "secret-1" } }],
  ["cookies", { headers: { cookie: "session=secret-1; path=/" } }],
  ["a token of the address", { query: { token: "secret-1/+ &é" } }],
  [
    "a token and a header",
    { query: { token: "secret-1" }, headers: { "cf-access-client-secret": "secret-1" } },
  ],
] as const;

forCasesInTurn<readonly [string, Guard], readonly [string, Guard]>(
  "A10 a server behind %s gets it with each request, and nothing shows it",
  { usual: tokens.slice(-1), others: tokens.slice(0, -1) },
  async ([, guard]) => {
    const server = await scene.startServer({ guard, basePath: "/comfy/1", stepMs: 20 });
    const lines: string[] = [];
    scene.log = pino({ level: "trace" }, { write: (line) => lines.push(line) });
    scene.headers = JSON.stringify({ [new URL(server.url).origin]: guard.headers ?? {} });
    const url = `${server.url}?${new URLSearchParams(guard.query)}`;
    const { engine, pool } = await scene.openEngine({ url });
    const image = path.join(scene.folder, "image.png");
    await sharp({ create: { width: 64, height: 64, channels: 3, background: "red" } })
      .png()
      .toFile(image);
    const told = newContext();
    const task = scene.newTask({ workflow: "upscale_model", inputs: { image }, params: { scale: 4 } });
    const outputs = await engine.run(task, told.context);
    await engine.run(newTask(), told.context);
    expect(outputs).toHaveLength(1);
    // Previews come by the socket alone, and are made beside the run.
    await vi.waitUntil(() => told.previews.length > 0, waiting);
    const shown = [outputs, pool.list(), told.submissions, lines];
    expect(JSON.stringify(shown)).not.toMatch(/secret-1/);
    scene.headers = "{}";
    const stranger = await scene.openEngine(server);
    const shownTo = stranger.pool.list().map(({ state, lastError }) => [state, lastError]);
    expect(shownTo).toEqual([["down", expect.stringContaining("refuses the password, header or token")]]);
  },
);

test("A10 a redirect is not followed: another host never sees the credentials", async () => {
  const other = await scene.startServer();
  const server = await scene.startServer({ guard: { query: { token: "right" }, redirect: other.url } });
  scene.headers = JSON.stringify({ [server.url]: { authorization: "Bearer secret-1" } });
  const { pool } = await scene.openEngine({ url: `${server.url}?token=wrong` });
  const lastError = expect.stringContaining("leads to another page (HTTP 302)");
  expect(pool.list()).toMatchObject([{ state: "down", lastError }]);
  expect(other.stats().requests).toEqual({});
});

test("A10 a check asks each server once and names what cannot be used", async () => {
  const server = await scene.startServer({ guard: { query: { token: "secret-1" } } });
  const { servers, problems } = await checkServers(
    {
      COMFYUI_URLS: [
        `${server.url}?token=secret-1`,
        "127.0.0.1:1?token=secret-1",
        "two words?token=secret-1",
      ],
      COMFYUI_DISCOVERY: ["http://127.0.0.1:1/list.json?token=secret-1"],
      IOPAINT_URLS: [`${server.url}/wrong?token=secret-1`],
    },
    { workflows: builtInWorkflows, timeoutMs: 30_000 },
  );
  const label = new URL(server.url).host;
  expect(servers).toMatchObject([
    {
      label,
      engine: "comfyui",
      reason: null,
      facts: { needs: expect.arrayContaining(["comfyui/t2i_sd15"]) },
    },
    { label: "127.0.0.1:1", facts: null, reason: "The server cannot be reached." },
    { label: `${label}/wrong`, engine: "iopaint", facts: null },
  ]);
  expect(problems).toEqual([
    { what: "COMFYUI_URLS", reason: "Not an address of a server: two words" },
    { what: "http://127.0.0.1:1/list.json", reason: "The list of servers cannot be reached." },
  ]);
  expect(JSON.stringify([servers, problems])).not.toContain("secret-1");
});

const checkpoint = "v1-5-pruned-emaonly-fp16.safetensors";

const spellings = {
  usual: [["folders of Windows", `checkpoints\\SD15\\${checkpoint}`]],
  others: [
    ["a folder", `SD15/${checkpoint}`],
    ["another case", checkpoint.toUpperCase().replace("SAFETENSORS", "safetensors")],
    ["another ending", checkpoint.replace("safetensors", "ckpt")],
  ],
} as const;

forCasesInTurn(
  "A10 a server whose model has %s in its name runs the workflow with its own spelling",
  spellings,
  async ([, own]) => {
    const models = { checkpoints: ["other/sd_xl_base_1.0.safetensors", own] };
    const [plain, foldered] = [await scene.startServer(), await scene.startServer({ models })];
    const { engine, pool } = await scene.openEngine(plain, foldered);
    // The second run would go to the server that has the model already.
    for (const avoid of [[], [plain.url]]) await engine.run({ ...newTask(), avoid }, newContext().context);
    const named = [plain, foldered].map((server) => JSON.stringify(server.prompts()[0]?.graph));
    expect(named[0]).toContain(JSON.stringify(checkpoint));
    expect(named[1]).toContain(JSON.stringify(own));
    expect(pool.list()[1]?.models).toContain(own);
  },
);

test("A10 a model that several files could be is missing, and both are named", async () => {
  const server = await scene.startServer({
    models: { checkpoints: [`a/${checkpoint}`, `b\\${checkpoint}`] },
  });
  const { pool } = await scene.openEngine(server);
  const lacks = `model ${checkpoint} (CheckpointLoaderSimple.ckpt_name): it may be any of a/${checkpoint}, b\\${checkpoint}`;
  expect(pool.list()[0]?.missing["t2i_sd15"]).toEqual([lacks]);
});

test.each([
  ["1 GiB of shared memory", { type: "privateuseone", vramTotalBytes: 2 ** 30 }],
  ["0", { type: "mps", vramTotalBytes: 0 }],
  ["nothing", { type: "xpu", vramTotalBytes: null }],
  ["6 GiB", { type: "cuda", vramTotalBytes: 6 * 2 ** 30 }],
])(
  "D4 a card that reports %s offers every workflow whose models it has, and runs them",
  async (_name, device) => {
    const server = await scene.startServer({ device, mode: "new" });
    const { engine, pool } = await scene.openEngine(server);
    expect(pool.list()).toMatchObject([{ state: "healthy", missing: {}, device: device.type }]);
    expect(pool.list()[0]?.needs).toHaveLength(builtInWorkflows().length);
    expect(pool.list()[0]?.tightNeeds.length).toBe(
      device.type === "cuda" ? builtInWorkflows().filter(({ vramGib }) => vramGib * 0.9 > 6).length : 0,
    );
    expect(await engine.run(newTask(), newContext().context)).toHaveLength(1);
  },
);

test("D4 an admin's word about a card counts in place of what the server reports", async () => {
  const server = await scene.startServer({ device: { type: "cuda", vramTotalBytes: 6 * 2 ** 30 } });
  scene.known = { [`${server.url.slice("http://".length)}/`]: { vramGib: 48 } };
  const { pool } = await scene.openEngine(server);
  expect(pool.list()).toMatchObject([{ tightNeeds: [], vramTotalBytes: 48 * 2 ** 30 }]);
});

test("F27 a full card is freed before the next job runs on it", async () => {
  const server = await scene.startServer();
  const { engine } = await scene.openEngine(server);
  server.inject({ kind: "gpu-out-of-memory", untilFreed: true, times: "forever" });
  const failed = engine.run(newTask(), newContext().context);
  await expect(failed).rejects.toMatchObject({ code: "gpu_out_of_memory" });
  expect(await engine.run(newTask(), newContext().context)).toHaveLength(1);
  expect(server.stats().frees).toBe(1);
});

test("F27 a card that stays full is left out after two runs and is back after a probe", async () => {
  const server = await scene.startServer();
  const { engine, pool } = await scene.openEngine(server);
  server.inject({ kind: "gpu-out-of-memory", times: 2 });
  // No rest ends while the clock stands.
  const clock = vi.spyOn(performance, "now").mockReturnValue(performance.now());
  for (let run = 0; run < 2; run++)
    await expect(engine.run(newTask(), newContext().context)).rejects.toMatchObject({
      code: "gpu_out_of_memory",
    });
  expect(stateOf(pool, server)).toBe("degraded");
  await expect(engine.run(newTask(), newContext().context)).rejects.toMatchObject({ code: "server_busy" });
  clock.mockRestore();
  await untilState(pool, server, "healthy");
  expect(await engine.run(newTask(), newContext().context)).toHaveLength(1);
  expect(server.stats().frees).toBe(2);
});

test("A10 D4 models that come and go on a running server change what it can run", async () => {
  const server = await scene.startServer();
  const { engine, pool } = await scene.openEngine(server);
  server.setModels({});
  const run = engine.run(newTask(), newContext().context);
  await expect(run).rejects.toMatchObject({ code: "model_missing" });
  await vi.waitUntil(() => pool.list()[0]?.needs.includes("comfyui/t2i_sd15") === false, waiting);
  expect(pool.list()[0]?.missing["t2i_sd15"]?.[0]).toMatch(
    /^model .+ \(CheckpointLoaderSimple\.ckpt_name\)$/,
  );
  expect(pool.list()[0]?.needs).toContain("comfyui/cpu_composite_no_model");
});

test("A10 servers of an nginx file, behind paths of one host, change while a job runs", async () => {
  const [a, b] = [
    await scene.startServer({ basePath: "/comfy" }),
    await scene.startServer({ basePath: "/comfy" }),
  ];
  const file = path.join(scene.folder, "comfy.conf");
  const list = ({ port }: ComfySimulator) => writeFile(file, `upstream comfy { server 127.0.0.1:${port}; }`);
  await list(a);
  const pool = createServerPool({
    sources: createSources({
      COMFYUI_URLS: [],
      COMFYUI_DISCOVERY: [`nginx:${file}#comfy?prefix=/comfy`],
      IOPAINT_URLS: [],
    }).sources,
    workflows: builtInWorkflows,
    config: {
      timing: { probeMs: 100, probeTimeoutMs: 60_000, discoverMs: 50, objectInfoMs: 60_000 },
      limits: { serverMemoryFailures: 2 },
      servers: {},
    },
    log: pino({ level: "silent" }),
  });
  try {
    await pool.start();
    const engine = createComfyuiEngine({ pool });
    // It works until the other server has come, however long that takes.
    a.inject({ kind: "hold" });
    const run = engine.run(newTask(), newContext().context);
    await vi.waitUntil(() => a.prompts()[0]?.started === 1, waiting);
    await list(b);
    await untilState(pool, b, "healthy");
    expect(stateOf(pool, a)).toBe("draining");
    await engine.run(newTask(), newContext().context);
    expect(b.prompts()).toHaveLength(1);
    a.release();
    expect(await run).toHaveLength(1);
    expect(stateOf(pool, a)).toBeUndefined();
  } finally {
    await pool.stop();
  }
});
