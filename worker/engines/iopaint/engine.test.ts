import { writeFile } from "node:fs/promises";
import path from "node:path";
import sharp, { type Sharp } from "sharp";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { JobKind } from "@atelier/server/engines";
import { AppError, toAppError } from "@atelier/server/platform";
import type { EngineTask } from "../port.ts";
import { drawMask, drawPicture, size } from "./fixtures/draw.ts";
import { newContext, openScene, type Scene, until } from "./fixtures/open-scene.ts";

let scene: Scene;
beforeEach(async () => {
  scene = await openScene();
});
afterEach(() => scene.close());

describe("server failures", () => {
  test.each([
    ["gpu-out-of-memory", "gpu_out_of_memory"],
    ["cpu-out-of-memory", "out_of_memory"],
    ["error", "engine_failed"],
    ["garbage", "engine_failed"],
    ["html", "proxy_error"],
    ["lost-answer", "server_lost"],
  ] as const)("D8 a server's %s is the error %s", async (kind, code) => {
    const server = await scene.startServer();
    // A probe would use up the fault.
    const { engine, pool } = await scene.openEngine([server], { probeMs: 60_000 });
    server.inject({ kind });
    const inputs = {
      image: await drawPicture(scene.folder, "photo.jpg"),
      mask: await drawMask(scene.folder),
    };
    const run = engine.run(await scene.newTask("inpaint", { inputs }), newContext().context);
    await expect(run).rejects.toMatchObject({ code, details: { server: server.url } });
    await until(pool, ({ jobId }) => jobId === null);
  });

  test("D8 a server behind a proxy gets its header and token with each request", async () => {
    const guard = { headers: { "x-api-key": "key-1" }, query: { token: "a b" } };
    const server = await scene.startServer({ guard });
    const open = (url: string) => ({ url: `${url}?token=a%20b` });
    const headers = JSON.stringify({ [server.url]: { "X-API-Key": "key-1" } });
    const { engine, pool } = await scene.openEngine([open(server.url)], { headers });
    const inputs = {
      image: await drawPicture(scene.folder, "photo.jpg"),
      mask: await drawMask(scene.folder),
    };
    const task = await scene.newTask("inpaint", { inputs });
    expect(await engine.run(task, newContext().context)).toMatchObject([
      { facts: { server: server.url.slice(7) } },
    ]);
    expect(JSON.stringify(pool.list())).not.toMatch(/key-1|token/);
    const stranger = await scene.openEngine([open(server.url)]);
    const lastError = expect.stringContaining("refuses the password, header or token");
    expect(stranger.pool.list()).toMatchObject([{ state: "down", lastError }]);
  });

  test.each(["upscale", "restore_faces"] as const)(
    "D1 a result of %s keeps the transparency",
    async (kind) => {
      const { engine } = await scene.openEngine([await scene.startServer()]);
      const image = path.join(scene.folder, "glass.png");
      const half = { create: { width: 40, height: 30, channels: 4 as const, background: "#10203080" } };
      await sharp(half).png().toFile(image);
      const task = await scene.newTask(kind, { inputs: { image }, params: { scale: 2 } });
      const [output] = await engine.run(task, newContext().context);
      const { channels, isOpaque } = await sharp(output?.path).stats();
      expect([isOpaque, channels[3]?.min, channels[3]?.max]).toEqual([false, 128, 128]);
    },
  );

  test("F27 D8 of a card that is lost only the run that found it is charged", async () => {
    const server = await scene.startServer();
    const { engine, pool } = await scene.openEngine([server], { probeMs: 100 });
    const image = await drawPicture(scene.folder, "photo.jpg");
    const inputs = { image, mask: await drawMask(scene.folder) };
    const codeOf = async () =>
      engine.run(await scene.newTask("inpaint", { inputs }), newContext().context).then(
        () => "ok",
        (thrown) => thrown.code,
      );
    const isHealthy = () => pool.list()[0]?.state === "healthy";
    server.inject({ kind: "card-lost", times: 2 });
    for (const code of ["engine_failed", "server_lost", "ok"]) {
      await vi.waitUntil(isHealthy, { timeout: 20_000 });
      expect(await codeOf()).toBe(code);
    }
    server.inject({ kind: "card-lost" });
    await vi.waitUntil(isHealthy, { timeout: 20_000 });
    expect(await codeOf()).toBe("engine_failed");
  });

  test.each([
    ["vips_image_write_to_memory: out of memory -- size == 183MB", "out_of_memory"],
    ["wbuffer_write: write failed\nsystem error: No space left on device", "storage_unavailable"],
  ])(
    "F30 a result that this machine has no room to read (%s) is not the server's fault",
    async (said, code) => {
      const server = await scene.startServer();
      const { engine, pool } = await scene.openEngine([server]);
      const report = vi.spyOn(pool, "report");
      const image = await drawPicture(scene.folder, "photo.jpg");
      const task = await scene.newTask("upscale", { inputs: { image }, params: { scale: 2 } });
      const prototype = Object.getPrototypeOf(sharp(Buffer.alloc(1))) as Sharp;
      const raw = Reflect.get(prototype, "raw") as (options?: object) => Sharp;
      const spy = vi.spyOn(prototype, "raw").mockImplementation(function (this: Sharp, options) {
        if (options?.depth === "uchar") throw new Error(said);
        return Reflect.apply(raw, this, [options]);
      });
      const error: unknown = await engine.run(task, newContext().context).catch((thrown: unknown) => thrown);
      spy.mockRestore();
      expect(error).toMatchObject({ code });
      expect(toAppError(error).details?.["server"]).toBeUndefined();
      expect(report.mock.calls.map(([, outcome]) => outcome)).toEqual(["ok"]);
    },
  );

  test("F27 D8 a server out of memory twice rests and comes back", async () => {
    // As long as no test lasts: the rest ends when the clock is put forward.
    const restMs = 600_000;
    const server = await scene.startServer();
    const { engine, pool } = await scene.openEngine([server], { probeMs: restMs });
    server.inject({ kind: "gpu-out-of-memory", times: 2 });
    const inputs = {
      image: await drawPicture(scene.folder, "photo.jpg"),
      mask: await drawMask(scene.folder),
    };
    for (let run = 0; run < 2; run++)
      await expect(
        engine.run(await scene.newTask("inpaint", { inputs }), newContext().context),
      ).rejects.toMatchObject({
        code: "gpu_out_of_memory",
      });
    expect(pool.list()[0]?.state).toBe("degraded");
    await expect(
      engine.run(await scene.newTask("inpaint", { inputs }), newContext().context),
    ).rejects.toMatchObject({
      code: "server_busy",
    });
    const passed = performance.now() + restMs;
    const clock = vi.spyOn(performance, "now").mockReturnValue(passed);
    // Any report of a failed run has the server probed; this one is no fault of the server.
    pool.report(server.url, new AppError("input_missing"), "iopaint/inpaint");
    await until(pool, ({ state }) => state === "healthy");
    clock.mockRestore();
    await engine.run(await scene.newTask("inpaint", { inputs }), newContext().context);
  });

  test("F25 a server killed in mid-job is lost and out of rotation, and used again when it is back", async () => {
    const server = await scene.startServer({ workMs: 60_000 });
    const { engine, pool } = await scene.openEngine([server]);
    const inputs = {
      image: await drawPicture(scene.folder, "photo.jpg"),
      mask: await drawMask(scene.folder),
    };
    const run = engine.run(await scene.newTask("inpaint", { inputs }), newContext().context);
    await until(pool, ({ jobId }) => jobId !== null);
    const [ended] = await Promise.allSettled([run, server.kill()]);
    expect(ended).toMatchObject({ status: "rejected", reason: { code: "server_lost" } });
    await until(pool, ({ state }) => state === "down");
    await server.start();
    await until(pool, ({ state, jobId }) => state === "healthy" && jobId === null);
  });

  test("F28 a server that never answers is given up at its limit", async () => {
    const server = await scene.startServer();
    const { engine, pool } = await scene.openEngine([server], { answerLimitMs: 400 });
    server.inject({ kind: "hang" });
    const inputs = {
      image: await drawPicture(scene.folder, "photo.jpg"),
      mask: await drawMask(scene.folder),
    };
    const run = engine.run(await scene.newTask("inpaint", { inputs }), newContext().context);
    await expect(run).rejects.toMatchObject({ code: "server_lost" });
    await until(pool, ({ jobId }) => jobId === null);
  });
});

describe("stopped runs", () => {
  test("D6 a cancelled run ends at once, its server stays busy until it has answered", async () => {
    const server = await scene.startServer();
    const { engine, pool } = await scene.openEngine([server]);
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    server.inject({ kind: "slow", until: held });
    const image = await drawPicture(scene.folder, "photo.jpg");
    const cancel = new AbortController();
    const cancelled = await scene.newTask("restore_faces", { inputs: { image } });
    const run = engine.run(cancelled, newContext(cancel.signal).context);
    await until(pool, () => server.stats().mostAtOnce === 1);
    cancel.abort(new Error("cancelled"));
    await expect(run).rejects.toThrow("cancelled");
    expect(server.stats().plugins).toEqual({});
    expect(pool.list()[0]?.jobId).toBe(cancelled.jobId);
    const next = engine.run(
      await scene.newTask("restore_faces", { inputs: { image } }),
      newContext().context,
    );
    // A whole run on another server: the next one would have been sent meanwhile.
    const beside = await scene.openEngine([await scene.startServer()]);
    const task = await scene.newTask("restore_faces", { inputs: { image } });
    await beside.engine.run(task, newContext().context);
    expect(pool.list()[0]?.jobId).toBe(cancelled.jobId);
    release();
    await next;
    expect(server.stats()).toMatchObject({ plugins: { GFPGAN: 2 }, mostAtOnce: 1 });
  });

  test("D6 a run that is cancelled while it waits for a server gives up its place", async () => {
    const server = await scene.startServer();
    const { engine, pool } = await scene.openEngine([server]);
    const held = await pool.acquire({
      need: "iopaint/restore_faces",
      jobId: "other",
      avoid: [],
      prefer: null,
      signal: new AbortController().signal,
    });
    const cancel = new AbortController();
    const task = await scene.newTask("restore_faces", {
      inputs: { image: await drawPicture(scene.folder, "photo.jpg") },
    });
    const run = engine.run(task, newContext(cancel.signal).context);
    cancel.abort(new Error("cancelled"));
    await expect(run).rejects.toThrow("cancelled");
    held?.release();
    expect(pool.list()[0]?.jobId).toBeNull();
  });

  test("F28 D6 a server that still does not answer a while after a cancel is taken for lost", async () => {
    const server = await scene.startServer();
    const { engine, pool } = await scene.openEngine([server], { abandonMs: 300 });
    server.inject({ kind: "hang" });
    const inputs = {
      image: await drawPicture(scene.folder, "photo.jpg"),
      mask: await drawMask(scene.folder),
    };
    const cancel = new AbortController();
    const run = engine.run(await scene.newTask("inpaint", { inputs }), newContext(cancel.signal).context);
    await until(pool, () => server.stats().mostAtOnce === 1);
    cancel.abort(new Error("cancelled"));
    await expect(run).rejects.toThrow("cancelled");
    expect(pool.list()[0]?.jobId).not.toBeNull();
    await until(pool, ({ jobId, state }) => jobId === null && state === "down");
  });

  test("A17 an engine that closes ends its requests", async () => {
    const server = await scene.startServer({ workMs: 60_000 });
    const { engine, pool } = await scene.openEngine([server]);
    const inputs = {
      image: await drawPicture(scene.folder, "photo.jpg"),
      mask: await drawMask(scene.folder),
    };
    const run = engine.run(await scene.newTask("inpaint", { inputs }), newContext().context);
    await until(pool, ({ jobId }) => jobId !== null);
    const [ended] = await Promise.allSettled([run, engine.close()]);
    expect(ended.status).toBe("rejected");
    expect(pool.list()[0]).toMatchObject({ jobId: null, state: "healthy" });
  });
});

describe("engine", () => {
  const pixelsOf = (file: string) => sharp(file).raw().toBuffer();
  const greyOf = (file: string) => sharp(file).extractChannel(0).raw().toBuffer();

  test("A10 D1 D2 the kinds of a server follow from its model and plugins", async () => {
    const servers = [
      await scene.startServer({ model: "runwayml/stable-diffusion-inpainting", plugins: ["RemoveBG"] }),
      await scene.startServer({ model: "cv2", plugins: ["RestoreFormer", "InteractiveSeg"] }),
      await scene.startServer(),
    ];
    const { pool } = await scene.openEngine(servers);
    expect(pool.list()).toMatchObject([
      {
        needs: ["iopaint/remove_background"],
        missing: { inpaint: [expect.stringContaining("without a prompt")] },
      },
      {
        engine: "iopaint",
        state: "healthy",
        needs: ["iopaint/inpaint", "iopaint/restore_faces", "iopaint/segment"],
        models: ["cv2", "vit_b"],
      },
      {
        needs: [
          "iopaint/inpaint",
          "iopaint/upscale",
          "iopaint/remove_background",
          "iopaint/restore_faces",
          "iopaint/segment",
        ],
      },
    ]);
  });

  test.each([
    ["photo.jpg", 3],
    ["clear.png", 4],
  ] as const)(
    "D1 inpaint of %s changes what is marked and not one bit outside of it",
    async (name, channels) => {
      const { engine, pool } = await scene.openEngine([await scene.startServer()]);
      const [image, mask] = [await drawPicture(scene.folder, name, channels), await drawMask(scene.folder)];
      const maskPath = path.join(scene.folder, "changed.png");
      const task = await scene.newTask("inpaint", { inputs: { image, mask }, maskPath });
      const { context, fractions } = newContext();
      const [output] = await engine.run(task, context);
      if (!output) throw new Error("no output");
      expect(output).toMatchObject({ mime: "image/png", facts: { server: pool.list()[0]?.label } });
      const [before, after, marked] = await Promise.all([
        pixelsOf(image),
        pixelsOf(output.path),
        greyOf(mask),
      ]);
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
    const { engine } = await scene.openEngine([await scene.startServer()]);
    const task = await scene.newTask(kind, {
      params,
      inputs: { image: await drawPicture(scene.folder, "photo.jpg") },
    });
    const [output] = await engine.run(task, newContext().context);
    expect(await sharp(output?.path).metadata()).toMatchObject({ format: "png", ...expected });
  });

  describe("D2 segment", () => {
    const clicks = [
      { x: 30, y: 40, mode: "include" },
      { x: 90, y: 20, mode: "include" },
      { x: 36, y: 40, mode: "exclude" },
    ];

    test("the mask has the picture's size and shows each click at its pixel", async () => {
      const server = await scene.startServer();
      const { engine } = await scene.openEngine([server]);
      const image = await drawPicture(scene.folder, "clear.png", 4);
      const task = await scene.newTask("segment", { inputs: { image }, params: { clicks } });
      const [output] = await engine.run(task, newContext().context);
      if (!output) throw new Error("no output");
      expect(await sharp(output.path).metadata()).toMatchObject({ format: "png", ...size, channels: 1 });
      const grey = await greyOf(output.path);
      const at = (x: number, y: number) => grey[y * size.width + x];
      // The simulator selects discs of 12 pixels: the third click takes away what it overlaps.
      expect([at(90, 20), at(20, 40), at(30, 40), at(36, 40), at(60, 70)]).toEqual([255, 255, 0, 0, 0]);
      expect(new Set(grey)).toEqual(new Set([0, 255]));
      expect(server.stats().plugins).toEqual({ InteractiveSeg: 1 });
    });

    test("an empty selection is told, and its server is not blamed", async () => {
      const { engine, pool } = await scene.openEngine([await scene.startServer()]);
      const image = await drawPicture(scene.folder, "photo.jpg");
      const same = [{ ...clicks[0] }, { ...clicks[0], mode: "exclude" }];
      const task = await scene.newTask("segment", { inputs: { image }, params: { clicks: same } });
      await expect(engine.run(task, newContext().context)).rejects.toMatchObject({ code: "mask_empty" });
      expect(pool.list()[0]?.state).toBe("healthy");
    });
  });

  test("D1 faces are restored by whichever plugin the server has", async () => {
    const server = await scene.startServer({ plugins: ["RestoreFormer"] });
    const { engine } = await scene.openEngine([server]);
    const task = await scene.newTask("restore_faces", {
      inputs: { image: await drawPicture(scene.folder, "photo.jpg") },
    });
    await engine.run(task, newContext().context);
    expect(server.stats().plugins).toEqual({ RestoreFormer: 1 });
  });

  test("D1 D2 a server has one job at once, two servers have one each", async () => {
    const servers = [await scene.startServer(), await scene.startServer()];
    const { engine } = await scene.openEngine(servers);
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    for (const server of servers) server.inject({ kind: "slow", until: held });
    const image = await drawPicture(scene.folder, "photo.jpg");
    const runs = Array.from({ length: 6 }, async () =>
      engine.run(await scene.newTask("restore_faces", { inputs: { image } }), newContext().context),
    );
    await vi.waitUntil(() => servers.every((server) => server.stats().mostAtOnce === 1));
    expect(servers.map((server) => server.stats().plugins)).toEqual([{}, {}]);
    release();
    await Promise.all(runs);
    expect(servers.map((server) => server.stats().mostAtOnce)).toEqual([1, 1]);
    // How many each made follows from how fast it was.
    const made = servers.map((server) => server.stats().plugins["GFPGAN"] ?? 0);
    expect(made.reduce((sum, count) => sum + count, 0)).toBe(6);
  });

  test("D8 wrong inputs are told before a server is asked", async () => {
    const server = await scene.startServer();
    const { engine } = await scene.openEngine([server]);
    const image = await drawPicture(scene.folder, "photo.jpg");
    const mask = await drawMask(scene.folder, { width: 64, height: 64 });
    const { context } = newContext();
    const damaged = path.join(scene.folder, "damaged.png");
    await writeFile(damaged, "no picture");
    const runs: [JobKind, EngineTask["inputs"], string][] = [
      ["inpaint", { image, mask }, "mask_size"],
      ["inpaint", { image }, "input_missing"],
      ["upscale", { image: damaged }, "upload_unreadable"],
      // A file that is not there any more says nothing of the picture.
      ["upscale", { image: path.join(scene.folder, "nothing.png") }, "ENOENT"],
      ["text_to_image", {}, "no_engine"],
    ];
    for (const [kind, inputs, code] of runs)
      await expect(engine.run(await scene.newTask(kind, { inputs }), context)).rejects.toMatchObject({
        code,
      });
    expect(server.stats().inpaints).toBe(0);
  });

  test("the server is noted at the job before the request is sent, with nothing to adopt", async () => {
    const server = await scene.startServer();
    const { engine } = await scene.openEngine([server]);
    const noted: unknown[] = [];
    const { context } = newContext();
    const inputs = { image: await drawPicture(scene.folder, "photo.jpg") };
    await engine.run(await scene.newTask("restore_faces", { inputs }), {
      ...context,
      onSubmitting: async (posting) => void noted.push(posting, server.stats().mostAtOnce),
    });
    expect(noted).toEqual([{ server: server.url, externalId: null }, 0]);
  });
});
