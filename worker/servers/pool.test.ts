import { builtInWorkflows } from "@atelier/server/workflows";
import { expect, test } from "vitest";
import {
  acquire,
  ask,
  endAfterEach,
  error,
  listed,
  openPool,
  routes,
  startServer,
  stateOf,
  until,
  untilState,
} from "./fixtures/pool-scene.ts";

endAfterEach();

test("A10 D4 a probe tells what a server is and which workflows it can run, and what the others lack", async () => {
  const big = await startServer({ queueLength: 3 });
  const small = await startServer({ device: { type: "cuda", vramGib: 8 } });
  const slow = await startServer({ device: { type: "cpu", vramGib: 8 }, files: [] });
  const { pool } = await openPool([listed(big.url), listed(small.url), listed(slow.url)]);
  const [first, second, third] = pool.list();
  expect(first).toMatchObject({
    url: big.url,
    engine: "comfyui",
    label: big.url.slice("http://".length),
    sources: ["test"],
    state: "healthy",
    device: "cuda",
    deviceName: "cuda card",
    vramTotalBytes: 24 * 2 ** 30,
    vramFreeBytes: 12 * 2 ** 30,
    version: "0.8.0",
    queueLength: 3,
    jobId: null,
    lastError: null,
  });
  expect(first?.needs).toContain("comfyui/t2i_sdxl");
  expect(first?.models.length).toBeGreaterThan(3);
  expect(second?.needs).toContain("comfyui/t2i_sd15");
  expect(second?.missing["t2i_flux1_checkpoint_fp8"]).toEqual([
    expect.stringMatching(/^\d+ GiB of VRAM \(it has 8\.0\)$/),
  ]);
  // A CPU is never short of VRAM, but this one has no models.
  expect(third?.needs).toEqual(["comfyui/cpu_composite_no_model"]);
  expect(third?.missing["t2i_sd15"]).toEqual([
    expect.stringMatching(/^model \S+ \(CheckpointLoaderSimple\.ckpt_name\)$/),
  ]);
});

test("A10 nodes and models are asked for once per version; the light probe goes on", async () => {
  const server = await startServer();
  const { pool } = await openPool([listed(server.url)]);
  const classes = new Set(builtInWorkflows.flatMap((workflow) => workflow.classes));
  expect(routes(server, "/object_info")).toHaveLength(classes.size);
  expect(routes(server, "/object_info").map(({ route }) => route)).not.toContain("/object_info");
  const before = routes(server, "/system_stats").length;
  await until(pool, () => routes(server, "/system_stats").length >= before + 3);
  expect(routes(server, "/object_info")).toHaveLength(classes.size);
  [server.version, server.files] = ["0.9.0", []];
  await until(pool, ([state]) => state?.version === "0.9.0");
  expect(pool.list()[0]?.needs).toEqual(["comfyui/cpu_composite_no_model"]);
  expect(routes(server, "/object_info")).toHaveLength(2 * classes.size);
});

test("A10 a model that a run missed is looked for again", async () => {
  const server = await startServer();
  const { pool } = await openPool([listed(server.url)], { probeMs: 60_000 });
  server.files = [];
  pool.report(server.url, error("model_missing"), "comfyui/t2i_sd15");
  await until(pool, ([state]) => state?.needs.includes("comfyui/t2i_sd15") === false);
  expect(stateOf(pool, server)).toBe("healthy");
  expect(await pool.acquire(ask())).toBeNull();
});

test("A10 changes of the list while running: a new server is used, one that vanished ends its job and is forgotten", async () => {
  const [a, b] = [await startServer(), await startServer()];
  const { pool, list } = await openPool([listed(a.url)]);
  const held = await acquire(pool);
  list.servers = [listed(b.url)];
  await untilState(pool, b, "healthy");
  expect(stateOf(pool, a)).toBe("draining");
  expect(pool.list().map(({ sources }) => sources)).toEqual([[], ["test"]]);
  const next = await acquire(pool);
  expect(next.url).toBe(b.url);
  const waiting = pool.acquire(ask());
  held.release();
  expect(stateOf(pool, a)).toBeUndefined();
  next.release();
  expect((await waiting)?.url).toBe(b.url);
  const probesOfB = (count: number) => {
    const before = routes(b, "/system_stats").length;
    return until(pool, () => routes(b, "/system_stats").length >= before + count);
  };
  // What was on its way to it may arrive yet.
  await probesOfB(3);
  const asked = a.asked.length;
  await probesOfB(3);
  expect(a.asked.length).toBe(asked);
});

test("A10 a server that vanished and came back while its job ran is used again", async () => {
  const server = await startServer();
  const { pool, list } = await openPool([listed(server.url)]);
  const held = await acquire(pool);
  list.servers = [];
  await untilState(pool, server, "draining");
  expect(await pool.acquire(ask())).toBeNull();
  list.servers = [listed(server.url)];
  await untilState(pool, server, "healthy");
  held.release();
  (await acquire(pool)).release();
});

test("A10 a server that its source or the admin drains takes nothing new and is kept", async () => {
  const [a, b] = [await startServer(), await startServer()];
  const { pool, list } = await openPool([listed(a.url, { isDrained: true }), listed(b.url)]);
  expect([a, b].map((server) => stateOf(pool, server))).toEqual(["draining", "healthy"]);
  pool.setDrained(new Set([b.url]));
  expect(await pool.acquire(ask())).toBeNull();
  list.servers = [listed(a.url), listed(b.url)];
  await untilState(pool, a, "healthy");
  expect((await acquire(pool)).url).toBe(a.url);
  pool.setDrained(new Set());
  expect(stateOf(pool, b)).toBe("healthy");
});

test("A10 credentials of the address are sent with every probe", async () => {
  const server = await startServer();
  await openPool([listed(server.url.replace("//", "//me:secret@"))]);
  const expected = `Basic ${Buffer.from("me:secret").toString("base64")}`;
  expect(server.asked.every(({ authorization }) => authorization === expected)).toBe(true);
});

test("A17 a pool that stops sends away whoever waits and asks no server any more", async () => {
  const server = await startServer();
  const { pool } = await openPool([listed(server.url)]);
  await acquire(pool);
  const waiting = pool.acquire(ask());
  await pool.stop();
  expect(await waiting).toBeNull();
  expect(await pool.acquire(ask())).toBeNull();
});
