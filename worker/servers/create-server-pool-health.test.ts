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

test("F25 A10 a server that was killed is out of rotation and back when it answers again", async () => {
  const [a, b] = [await startServer(), await startServer()];
  const { pool } = await openPool([listed(a.url), listed(b.url)]);
  await a.kill();
  await untilState(pool, a, "down");
  expect(pool.list()[0]?.lastError).toBeTruthy();
  const held = await acquire(pool);
  expect(held.url).toBe(b.url);
  await b.kill();
  await untilState(pool, b, "down");
  expect(await pool.acquire(ask())).toBeNull();
  await a.restart();
  await untilState(pool, a, "healthy");
  expect(pool.list()[0]?.lastError).toBeNull();
  expect((await acquire(pool)).url).toBe(a.url);
});

test("F25 A10 a server that a run lost is out at once, whoever waits for it is told, and it is asked again soon", async () => {
  const server = await startServer();
  const { pool } = await openPool([listed(server.url)], { probeMs: 60_000 });
  const held = await acquire(pool);
  const waiting = pool.acquire(ask());
  pool.report(server.url, error("server_lost"), "comfyui/t2i_sd15");
  expect(stateOf(pool, server)).toBe("down");
  expect(await waiting).toBeNull();
  held.release();
  await untilState(pool, server, "healthy");
  await acquire(pool);
});

test("A10 a server that never answers is down, but not while it works on our job", async () => {
  const [a, b] = [await startServer(), await startServer()];
  const { pool } = await openPool([listed(a.url), listed(b.url)], { probeTimeoutMs: 1_000 });
  const held = await acquire(pool);
  [a.isHanging, b.isHanging] = [true, true];
  await untilState(pool, b, "down");
  expect([held.url, stateOf(pool, a)]).toEqual([a.url, "healthy"]);
  held.release();
  await untilState(pool, a, "down");
});

test("A10 a server that is away at the start is found when it comes", async () => {
  const server = await startServer();
  await server.kill();
  const { pool } = await openPool([listed(server.url)]);
  expect(stateOf(pool, server)).toBe("down");
  expect(await pool.acquire(ask())).toBeNull();
  await server.restart();
  await untilState(pool, server, "healthy");
  expect(pool.list()[0]?.needs).toContain("comfyui/t2i_sd15");
});

test("F27 a server out of memory frees it before the next job, rests after several in a row and comes back", async () => {
  const server = await startServer();
  const { pool } = await openPool([listed(server.url)]);
  for (const expected of ["healthy", "degraded"] as const) {
    const held = await acquire(pool);
    const waiting = expected === "healthy" ? pool.acquire(ask()) : null;
    const freed = routes(server, "/free").length;
    pool.report(held.url, error("gpu_out_of_memory"), "comfyui/t2i_sd15");
    held.release();
    expect(stateOf(pool, server)).toBe(expected);
    (await waiting)?.release();
    await until(pool, () => routes(server, "/free").length === freed + 1);
  }
  expect(await pool.acquire(ask())).toBeNull();
  expect(pool.list()[0]?.lastError).toBeTruthy();
  await untilState(pool, server, "healthy");
  expect(routes(server, "/free")).toHaveLength(2);
  // It is on probation: one more and it rests again, a good run clears it.
  pool.report((await acquire(pool)).url, error("out_of_memory"), "comfyui/t2i_sd15");
  expect(stateOf(pool, server)).toBe("degraded");
  await untilState(pool, server, "healthy");
  pool.report(server.url, "ok", "comfyui/t2i_sd15");
  pool.report(server.url, error("gpu_out_of_memory"), "comfyui/t2i_sd15");
  expect(stateOf(pool, server)).toBe("healthy");
});

test("F27 a server that refuses to be freed takes jobs again all the same", async () => {
  const server = await startServer({ freeStatus: 405 });
  const { pool } = await openPool([listed(server.url)]);
  pool.report(server.url, error("gpu_out_of_memory"), "comfyui/t2i_sd15");
  (await acquire(pool)).release();
  expect(routes(server, "/free")).toHaveLength(1);
});

test("F27 a server on which runs of two workflows fail rests too; a job that is itself at fault changes nothing", async () => {
  const server = await startServer();
  const { pool } = await openPool([listed(server.url)]);
  for (const code of ["graph_invalid", "engine_blocked", "input_missing", "engine_interrupted"] as const)
    for (let run = 0; run < 5; run++) pool.report(server.url, error(code), "comfyui/t2i_sd15");
  expect(stateOf(pool, server)).toBe("healthy");
  for (const need of ["comfyui/t2i_sd15", "comfyui/t2i_sdxl"] as const)
    for (let run = 0; run < 3; run++) pool.report(server.url, error("engine_failed"), need);
  expect(stateOf(pool, server)).toBe("degraded");
  await untilState(pool, server, "healthy");
});

test("F27 a workflow whose runs fail rests alone, and is offered again after a while", async () => {
  const server = await startServer();
  const { pool } = await openPool([listed(server.url)]);
  const [failing, other] = ["comfyui/t2i_sd15", "comfyui/t2i_sdxl"] as const;
  const isOffered = () => pool.list()[0]?.needs.includes(failing);
  for (let run = 0; run < 3; run++) {
    expect(isOffered()).toBe(true);
    pool.report(server.url, error("engine_failed"), failing);
  }
  expect(isOffered()).toBe(false);
  expect(pool.list()[0]?.missing["t2i_sd15"]).toEqual([
    expect.stringContaining("could not make the picture"),
  ]);
  expect(stateOf(pool, server)).toBe("healthy");
  expect(await pool.acquire(ask({ need: failing }))).toBeNull();
  (await acquire(pool, { need: other })).release();
  await until(pool, () => isOffered() === true);
  (await acquire(pool, { need: failing })).release();
});
