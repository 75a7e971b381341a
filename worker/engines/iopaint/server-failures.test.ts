import { afterEach, beforeEach, expect, test } from "vitest";
import { drawMask, drawPicture } from "./fixtures/draw.ts";
import { newContext, openScene, until, type Scene } from "./fixtures/open-scene.ts";

let scene: Scene;
beforeEach(async () => {
  scene = await openScene();
});
afterEach(() => scene.close());

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
  const inputs = { image: await drawPicture(scene.folder, "photo.jpg"), mask: await drawMask(scene.folder) };
  const run = engine.run(await scene.newTask("inpaint", { inputs }), newContext().context);
  await expect(run).rejects.toMatchObject({ code, details: { server: server.url } });
  await until(pool, ({ jobId }) => jobId === null);
});

test("F27 D8 a server out of memory twice rests and comes back", async () => {
  const server = await scene.startServer();
  const { engine, pool } = await scene.openEngine([server]);
  server.inject({ kind: "gpu-out-of-memory", times: 2 });
  const inputs = { image: await drawPicture(scene.folder, "photo.jpg"), mask: await drawMask(scene.folder) };
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
  await until(pool, ({ state }) => state === "healthy");
  await engine.run(await scene.newTask("inpaint", { inputs }), newContext().context);
});

test("F25 a server killed in mid-job is lost and out of rotation, and used again when it is back", async () => {
  const server = await scene.startServer({ workMs: 60_000 });
  const { engine, pool } = await scene.openEngine([server]);
  const inputs = { image: await drawPicture(scene.folder, "photo.jpg"), mask: await drawMask(scene.folder) };
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
  const inputs = { image: await drawPicture(scene.folder, "photo.jpg"), mask: await drawMask(scene.folder) };
  const run = engine.run(await scene.newTask("inpaint", { inputs }), newContext().context);
  await expect(run).rejects.toMatchObject({ code: "server_lost" });
  await until(pool, ({ jobId }) => jobId === null);
});
