import { writeFile } from "node:fs/promises";
import path from "node:path";
import { builtInWorkflows } from "@atelier/server/workflows";
import type { ComfySimulator } from "@atelier/testing/comfyui";
import pino from "pino";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { newContext, openScene, type Scene } from "../engines/comfyui/fixtures/open-scene.ts";
import { createComfyuiEngine } from "../engines/comfyui/engine.ts";
import { createServerPool, createSources, type ServerPool } from "./index.ts";

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

test("F25 a server killed in mid-job is out of rotation at once; restarted empty it takes jobs again", async () => {
  const [a, b] = [await scene.startServer({ stepMs: 60 }), await scene.startServer()];
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
  for (let run = 0; run < 2; run++)
    await expect(engine.run(newTask(), newContext().context)).rejects.toMatchObject({
      code: "gpu_out_of_memory",
    });
  expect(stateOf(pool, server)).toBe("degraded");
  await expect(engine.run(newTask(), newContext().context)).rejects.toMatchObject({ code: "server_busy" });
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
    await scene.startServer({ basePath: "/comfy", stepMs: 40 }),
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
    }),
    workflows: () => builtInWorkflows,
    config: {
      timing: { probeMs: 100, probeTimeoutMs: 5_000, discoverMs: 50, objectInfoMs: 60_000 },
      limits: { serverMemoryFailures: 2 },
    },
    log: pino({ level: "silent" }),
  });
  try {
    await pool.start();
    const engine = createComfyuiEngine({ pool });
    const run = engine.run(newTask(), newContext().context);
    await vi.waitUntil(() => a.prompts()[0]?.started === 1, waiting);
    await list(b);
    await untilState(pool, b, "healthy");
    expect(stateOf(pool, a)).toBe("draining");
    await engine.run(newTask(), newContext().context);
    expect(b.prompts()).toHaveLength(1);
    expect(await run).toHaveLength(1);
    expect(stateOf(pool, a)).toBeUndefined();
  } finally {
    await pool.stop();
  }
});
