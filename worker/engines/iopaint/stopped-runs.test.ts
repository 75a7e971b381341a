import { afterEach, beforeEach, expect, test } from "vitest";
import { drawMask, drawPicture } from "./fixtures/draw.ts";
import { newContext, openScene, until, type Scene } from "./fixtures/open-scene.ts";

let scene: Scene;
beforeEach(async () => {
  scene = await openScene();
});
afterEach(() => scene.close());

test("D6 a cancelled run ends at once, its server stays busy until it has answered", async () => {
  const server = await scene.startServer({ workMs: 700 });
  const { engine, pool } = await scene.openEngine([server]);
  const image = await drawPicture(scene.folder, "photo.jpg");
  const cancel = new AbortController();
  const cancelled = await scene.newTask("restore_faces", { inputs: { image } });
  const run = engine.run(cancelled, newContext(cancel.signal).context);
  await until(pool, () => server.stats().mostAtOnce === 1);
  cancel.abort(new Error("cancelled"));
  await expect(run).rejects.toThrow("cancelled");
  expect(server.stats().plugins).toEqual({});
  expect(pool.list()[0]?.jobId).toBe(cancelled.jobId);
  await engine.run(await scene.newTask("restore_faces", { inputs: { image } }), newContext().context);
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
  const inputs = { image: await drawPicture(scene.folder, "photo.jpg"), mask: await drawMask(scene.folder) };
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
  const inputs = { image: await drawPicture(scene.folder, "photo.jpg"), mask: await drawMask(scene.folder) };
  const run = engine.run(await scene.newTask("inpaint", { inputs }), newContext().context);
  await until(pool, ({ jobId }) => jobId !== null);
  const [ended] = await Promise.allSettled([run, engine.close()]);
  expect(ended.status).toBe("rejected");
  expect(pool.list()[0]).toMatchObject({ jobId: null, state: "healthy" });
});
