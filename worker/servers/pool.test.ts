import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { Need } from "@atelier/server/engines";
import { AppError } from "@atelier/server/platform";
import { builtInWorkflows, loraClasses } from "@atelier/server/workflows";
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
import type { HeldServer, ServerPool } from "./index.ts";

endAfterEach();

describe("create server pool health", () => {
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
    // A busy machine may let the first probe wait for longer.
    for (const server of [a, b]) await untilState(pool, server, "healthy");
    const held = await acquire(pool);
    const [ours, other] = held.url === a.url ? [a, b] : [b, a];
    [a.isHanging, b.isHanging] = [true, true];
    await untilState(pool, other, "down");
    expect([held.url, stateOf(pool, ours)]).toEqual([ours.url, "healthy"]);
    held.release();
    await untilState(pool, ours, "down");
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
    // No rest ends while the clock stands.
    const clock = vi.spyOn(performance, "now").mockReturnValue(performance.now());
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
    clock.mockRestore();
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

  test("F27 a server that has lost its card rests at once, longer each time, and no longer once its process is another", async () => {
    const server = await startServer();
    const { pool } = await openPool([listed(server.url)]);
    const lost = new AppError("engine_failed", "The card is lost.", { details: { reason: "lost_card" } });
    let nowMs = Math.ceil(performance.now());
    const clock = vi.spyOn(performance, "now").mockImplementation(() => nowMs);
    onTestFinished(() => clock.mockRestore());
    for (const restMs of [200, 400, 800]) {
      const held = await acquire(pool);
      expect(held.isUnfit).toBe(restMs > 200);
      pool.report(held.url, lost, "comfyui/t2i_sd15");
      held.release();
      expect(stateOf(pool, server)).toBe("degraded");
      expect(pool.list()[0]?.lastError).toBe("The card is lost.");
      expect(pool.list()[0]?.needs).toContain("comfyui/t2i_sd15");
      nowMs += restMs - 1;
      const before = pool.list()[0]?.probedAt;
      await vi.waitUntil(() => pool.list()[0]?.probedAt !== before);
      expect(stateOf(pool, server)).toBe("degraded");
      nowMs += 1;
      await untilState(pool, server, "healthy");
    }
    pool.report(server.url, lost, "comfyui/t2i_sd15");
    clock.mockRestore();
    await server.kill();
    await untilState(pool, server, "down");
    await server.restart();
    await untilState(pool, server, "healthy");
    const held = await acquire(pool);
    expect(held.isUnfit).toBe(false);
    held.release();
  });

  test("A12 a server that gives prompts ids of its own is offered for nothing until it is a newer one", async () => {
    const server = await startServer();
    const { pool } = await openPool([listed(server.url)]);
    const offered = () => pool.list()[0]?.needs.length ?? 0;
    const details = { reason: "own_ids" };
    pool.report(server.url, new AppError("node_missing", "Too old.", { details }), "comfyui/t2i_sd15");
    expect([offered(), stateOf(pool, server)]).toEqual([0, "healthy"]);
    expect(pool.list()[0]?.missing["t2i_sd15"]).toEqual([expect.stringContaining("newer ComfyUI")]);
    expect(await pool.acquire(ask())).toBeNull();
    // A restart of the same version changes nothing.
    await server.kill();
    await untilState(pool, server, "down");
    await server.restart();
    await untilState(pool, server, "healthy");
    expect(offered()).toBe(0);
    server.version = "0.9.0";
    await until(pool, () => offered() > 0);
    (await acquire(pool)).release();
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
});

describe("create server pool turns", () => {
  const holder = { jobId: "holds", patienceMs: 30_000, signal: new AbortController().signal };

  /** So many servers have the model afterwards. */
  async function load(pool: ServerPool, servers: number): Promise<void> {
    const held = await Promise.all(Array.from({ length: servers }, () => acquire(pool)));
    for (const one of held) {
      pool.report(one.url, "ok", "comfyui/t2i_sd15");
      one.release();
    }
  }

  test("A10 a server that ran the model last is taken before one that has to load it, also for another workflow with the same files", async () => {
    const [a, b] = [await startServer(), await startServer()];
    const { pool } = await openPool([listed(a.url), listed(b.url)], { probeMs: 60_000 });
    const loadedOn = (at: number) => pool.list()[at]?.loadedNeeds ?? [];
    for (let run = 0; run < 2; run++) {
      const held = await acquire(pool);
      expect(held.url).toBe(a.url);
      pool.report(held.url, "ok", "comfyui/t2i_sd15");
      held.release();
    }
    expect([loadedOn(0), loadedOn(1)]).toEqual([expect.arrayContaining(["comfyui/t2i_sd15"]), []]);
    const klein = await acquire(pool, { need: "comfyui/t2i_flux2_klein_4b" });
    expect(klein.url).toBe(b.url);
    pool.report(b.url, "ok", "comfyui/t2i_flux2_klein_4b");
    klein.release();
    expect(loadedOn(1)).toEqual(
      expect.arrayContaining(["comfyui/t2i_flux2_klein_4b", "comfyui/edit_flux2_klein_4b"]),
    );
    expect(loadedOn(1)).not.toContain("comfyui/t2i_sd15");
    // After a failed run nobody knows what is loaded.
    pool.report(b.url, error("engine_failed"), "comfyui/t2i_flux2_klein_4b");
    expect(loadedOn(1)).toEqual([]);
  });

  test("D12 what a server has loaded is known from a run's end: a cancelled one leaves what was, or less", async () => {
    const [sd15, klein]: readonly [Need, Need] = ["comfyui/t2i_sd15", "comfyui/t2i_flux2_klein_4b"];
    const server = await startServer();
    const { pool } = await openPool([listed(server.url)], { probeMs: 60_000 });
    const loaded = () => pool.list()[0]?.loadedNeeds ?? [];
    await load(pool, 1);
    const before = loaded();
    expect(before).toContain(sd15);
    // Cancelled before its prompt began, then refused by codes that load nothing.
    (await acquire(pool, { need: klein })).release();
    for (const code of ["graph_invalid", "request_too_large", "server_busy"] as const)
      pool.report(server.url, error(code), klein);
    expect(loaded()).toEqual(before);
    // Without a model nothing changes.
    pool.report(server.url, "begun", "comfyui/cpu_composite_no_model");
    pool.report(server.url, "ok", "comfyui/cpu_composite_no_model");
    expect(loaded()).toEqual(before);
    // Cancelled while it ran.
    const held = await acquire(pool, { need: klein });
    pool.report(server.url, "begun", klein);
    held.release();
    expect(loaded()).not.toContain(sd15);
    expect(loaded()).not.toContain(klein);
    // An adopted run ends as any other.
    const adopted = await pool.acquireHolder({ ...holder, url: server.url });
    pool.report(server.url, "ok", klein);
    adopted?.release();
    expect(loaded()).toContain(klein);
    pool.report(server.url, error("engine_failed"), klein);
    expect(loaded()).toEqual([]);
  });

  test("D12 after a run behind which another client's prompt waits nobody knows what a server has loaded", async () => {
    const busy = await startServer({ queueLength: 1 });
    const { pool } = await openPool([listed(busy.url)], { probeMs: 60_000 });
    await load(pool, 1);
    expect(pool.list()[0]?.loadedNeeds).toEqual([]);
  });

  test("D12 a need must load where the server that is chosen has to, although a backup has the model", async () => {
    const sd15 = "comfyui/t2i_sd15";
    const [a, b] = [await startServer(), await startServer()];
    const { pool } = await openPool([listed(a.url), listed(b.url, { isBackup: true })], { probeMs: 60_000 });
    pool.report(b.url, "ok", sd15);
    expect([[a.url, b.url], [b.url], [a.url], []].map((urls) => pool.mustLoad(sd15, urls))).toEqual([
      true,
      false,
      true,
      false,
    ]);
    expect((await acquire(pool)).url).toBe(a.url);
  });

  test("D12 a need must load although a server has the model whose card may be too small", async () => {
    const flux = "comfyui/t2i_flux1_checkpoint_fp8";
    const [small, big] = [
      await startServer({ device: { type: "cuda", vramGib: 8 } }),
      await startServer({ device: { type: "cuda", vramGib: 24 } }),
    ];
    const { pool } = await openPool([listed(small.url), listed(big.url)], { probeMs: 60_000 });
    pool.report(small.url, "ok", flux);
    expect(pool.mustLoad(flux, [small.url, big.url])).toBe(true);
    expect(pool.mustLoad(flux, [small.url])).toBe(false);
    expect((await acquire(pool, { need: flux })).url).toBe(big.url);
  });

  test("A10 servers are taken in turn, one job on each at once, those with the shortest queue first", async () => {
    const [a, b, c] = [await startServer(), await startServer(), await startServer({ queueLength: 2 })];
    const { pool } = await openPool([listed(a.url), listed(b.url), listed(c.url)], { probeMs: 60_000 });
    await load(pool, 2);
    const given: string[] = [];
    for (let run = 0; run < 4; run++) {
      const held = await acquire(pool);
      given.push(held.url);
      held.release();
    }
    expect(given).toEqual([a.url, b.url, a.url, b.url]);
    const held = [await acquire(pool), await acquire(pool), await acquire(pool, { jobId: "third" })];
    expect(held.map(({ url }) => url)).toEqual([a.url, b.url, c.url]);
    expect(pool.list().map(({ jobId }) => jobId)).toEqual(["job", "job", "third"]);
  });

  test("A10 a server of twice the weight is taken twice as often, a backup only where no other is free", async () => {
    const [a, b, c] = [await startServer(), await startServer(), await startServer()];
    const { pool } = await openPool([
      listed(a.url, { isBackup: true }),
      listed(b.url),
      listed(c.url, { weight: 2 }),
    ]);
    await load(pool, 2);
    const given: string[] = [];
    for (let run = 0; run < 9; run++) {
      const held = await acquire(pool);
      given.push(held.url);
      held.release();
    }
    expect([b, c].map(({ url }) => given.filter((each) => each === url).length)).toEqual([3, 6]);
    const held = [await acquire(pool), await acquire(pool), await acquire(pool)];
    expect(held.at(-1)?.url).toBe(a.url);
  });

  test("A10 the preferred server is given where it is free, an avoided one never", async () => {
    const [a, b] = [await startServer(), await startServer()];
    const { pool } = await openPool([listed(a.url), listed(b.url)]);
    const preferred = await acquire(pool, { prefer: b.url });
    expect(preferred.url).toBe(b.url);
    expect((await acquire(pool, { prefer: b.url })).url).toBe(a.url);
    expect(await pool.acquire(ask({ avoid: [a.url, b.url], prefer: b.url }))).toBeNull();
    const waiting = pool.acquire(ask({ avoid: [a.url] }));
    preferred.release();
    expect((await waiting)?.url).toBe(b.url);
  });

  test("A10 whoever waits for a busy server gets it first come, first served; an abort gives up the place", async () => {
    const server = await startServer();
    const { pool } = await openPool([listed(server.url)]);
    const held = await acquire(pool, { jobId: "one" });
    const leaver = new AbortController();
    const order: string[] = [];
    const waitFor = async (jobId: string, signal = new AbortController().signal) => {
      const got = await acquire(pool, { jobId, signal });
      order.push(jobId);
      got.release();
    };
    const left = waitFor("two", leaver.signal);
    const rest = [waitFor("three"), waitFor("four")];
    leaver.abort(new Error("cancelled"));
    await expect(left).rejects.toThrow("cancelled");
    held.release();
    held.release();
    await Promise.all(rest);
    expect(order).toEqual(["three", "four"]);
    await expect(pool.acquire(ask({ signal: AbortSignal.abort(new Error("late")) }))).rejects.toThrow("late");
  });

  test("F3 the server that has a job's work is given to it although it is drained, before whoever waits to begin", async () => {
    const [at, other] = [await startServer(), await startServer()];
    const { pool } = await openPool([listed(at.url), listed(other.url)]);
    const [first, second] = [await acquire(pool), await acquire(pool)];
    const order: string[] = [];
    const take = async (jobId: string, asked: Promise<HeldServer | null>) => {
      const held = await asked;
      order.push(`${jobId} ${held?.url}`);
      held?.release();
    };
    const begins = take("begins", pool.acquire(ask({ jobId: "begins" })));
    const holds = take("holds", pool.acquireHolder({ ...holder, url: first.url }));
    first.release();
    await Promise.all([begins, holds]);
    expect(order).toEqual([`holds ${first.url}`, `begins ${first.url}`]);
    pool.setDrained(new Set([first.url]));
    expect(await pool.acquire(ask({ avoid: [second.url] }))).toBeNull();
    expect((await pool.acquireHolder({ ...holder, url: first.url }))?.url).toBe(first.url);
  });

  test("F3 a server that is away is waited for as long as the job is patient, one that is not known not at all", async () => {
    const server = await startServer();
    const { pool } = await openPool([listed(server.url)]);
    await server.kill();
    await untilState(pool, server, "down");
    expect(await pool.acquireHolder({ ...holder, url: server.url, patienceMs: 50 })).toBeNull();
    expect(await pool.acquireHolder({ ...holder, url: "http://127.0.0.1:1" })).toBeNull();
    const waiting = pool.acquireHolder({ ...holder, url: server.url });
    await server.restart();
    expect((await waiting)?.url).toBe(server.url);
    const leaver = new AbortController();
    const left = pool.acquireHolder({ ...holder, url: server.url, signal: leaver.signal });
    leaver.abort(new Error("cancelled"));
    await expect(left).rejects.toThrow("cancelled");
  });
});

describe("pool", () => {
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
    // Its card is small for it, which is a hint and no reason to hide it.
    expect(second?.needs).toContain("comfyui/t2i_flux1_checkpoint_fp8");
    expect(second?.tightNeeds).toContain("comfyui/t2i_flux1_checkpoint_fp8");
    expect(second?.tightNeeds).not.toContain("comfyui/t2i_sd15");
    expect(second?.missing).toEqual({});
    // A CPU is never short of VRAM, but this one has no models.
    expect(third?.needs).toEqual(["comfyui/cpu_composite_no_model"]);
    expect(third?.missing["t2i_sd15"]).toEqual([
      expect.stringMatching(/^model \S+ \(CheckpointLoaderSimple\.ckpt_name\)$/),
    ]);
  });

  test("A10 nodes and models are asked for once per version; the light probe goes on", async () => {
    const server = await startServer();
    const { pool } = await openPool([listed(server.url)]);
    const classes = new Set([
      ...builtInWorkflows().flatMap((workflow) => workflow.classes),
      ...loraClasses(builtInWorkflows()),
    ]);
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
});
