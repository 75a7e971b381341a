import { randomUUID } from "node:crypto";
import { mkdir, readFile, symlink } from "node:fs/promises";
import path from "node:path";
import { toAppError } from "@atelier/server/platform";
import type { Fault } from "@atelier/testing/comfyui";
import sharp, { type Sharp } from "sharp";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import messages from "../../../messages/en.json" with { type: "json" };
import { RunStopped } from "../../base/index.ts";
import type { EngineContext } from "../port.ts";
import { newContext, openScene, type Scene } from "./fixtures/open-scene.ts";
import { comfyuiStages } from "./on-server.ts";

let scene: Scene;
beforeEach(async () => {
  scene = await openScene();
});
afterEach(() => scene.close());

test("A12 text becomes a picture that holds nothing of the server's file", async () => {
  const server = await scene.startServer({ stepMs: 20 });
  const { engine } = await scene.openEngine(server);
  const postedBefore: number[] = [];
  const told = newContext();
  const context: EngineContext = {
    ...told.context,
    async onSubmitting(submission) {
      postedBefore.push(server.prompts().length);
      await told.context.onSubmitting(submission);
    },
  };
  const task = scene.newTask({ workflow: "t2i_sd15" });
  const outputs = await engine.run(task, context);
  expect(outputs).toEqual([
    {
      path: expect.stringContaining(scene.folder),
      mime: "image/png",
      facts: { server: new URL(server.url).host, seed: 7, timeMs: expect.any(Number) },
    },
  ]);
  const [story] = server.prompts();
  expect(postedBefore).toEqual([0]);
  expect(told.submissions).toEqual([{ server: server.url, externalId: story?.promptId }]);
  expect(story?.promptId).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/);
  expect(JSON.stringify(story?.graph)).toContain(`atelier/${task.jobId}`);
  const bytes = await readFile(outputs[0]?.path ?? "");
  expect(bytes.toString("latin1")).not.toMatch(/tEXt|KSampler|red chair/);
  // It is made beside the run.
  await vi.waitUntil(() => told.previews.length > 0);
  expect((await sharp(told.previews[0]).metadata()).format).toBe("jpeg");
  // Noisy as a real server's: more than one NOTIFY carries.
  expect(told.previews[0]?.byteLength).toBeGreaterThan(8_000);
  expect([...told.stages]).toEqual(expect.arrayContaining(["preparing", "sampling", "fetching"]));
});

test("A12 every stage has a text", () => {
  expect(comfyuiStages.filter((stage) => !(stage in messages.stages))).toEqual([]);
});

test("A12 two jobs with the same seed and words get a picture of their own each", async () => {
  const server = await scene.startServer();
  const { engine } = await scene.openEngine(server);
  for (const jobId of ["one", "two"]) {
    await engine.run(scene.newTask({ workflow: "t2i_sd15", jobId }), newContext().context);
  }
  const prefixes = server
    .prompts()
    .map(({ graph }) => JSON.stringify(graph).match(/atelier\/(one|two)-/)?.[1]);
  expect(prefixes).toEqual(["one", "two"]);
  expect(server.stats().views).toBe(2);
});

test.each(["lost", "stopping"] as const)(
  "F3 F4 A17 what a %s try posted is adopted, never run a second time",
  async (reason) => {
    const server = await scene.startServer();
    server.inject({ kind: "hold" });
    const [first, second] = [await scene.openEngine(server), await scene.openEngine(server)];
    const controller = new AbortController();
    const { context, submissions } = newContext({ signal: controller.signal });
    const run = first.engine.run(scene.newTask({ workflow: "t2i_sd15" }), context);
    await vi.waitUntil(() => server.prompts()[0]?.started === 1, { timeout: 10_000 });
    controller.abort(new RunStopped(reason));
    await expect(run).rejects.toThrow(reason);
    server.release();
    const again = scene.newTask({ workflow: "t2i_sd15", attempt: 2, submission: submissions[0] ?? null });
    const outputs = await second.engine.run(again, newContext().context);
    expect(outputs).toMatchObject([{ facts: { adopted: true } }]);
    expect(server.prompts()).toMatchObject([{ posted: 1, finished: 1, interrupted: 0 }]);
  },
);

test("F25 a prompt that its server forgot is posted anew", async () => {
  const server = await scene.startServer();
  const { engine } = await scene.openEngine(server);
  const submission = { server: server.url, externalId: randomUUID() };
  const told = newContext();
  expect(await engine.run(scene.newTask({ workflow: "t2i_sd15", submission }), told.context)).toHaveLength(1);
  expect(told.submissions).toHaveLength(1);
});

test("F36 D12 a run that is cancelled is taken off its server, which is free again and may have unloaded a model", async () => {
  const server = await scene.startServer();
  server.inject({ kind: "hang" });
  const { engine, pool } = await scene.openEngine(server);
  const mustLoad = () =>
    ["t2i_sdxl", "t2i_sd15"].map((name) => pool.mustLoad(`comfyui/${name}`, [server.url]));
  pool.report(server.url, "ok", "comfyui/t2i_sdxl");
  expect(mustLoad()).toEqual([false, true]);
  const controller = new AbortController();
  const begun = Promise.withResolvers<void>();
  const { context } = newContext({ signal: controller.signal, onBegin: () => begun.resolve() });
  const run = engine.run(scene.newTask({ workflow: "t2i_sd15" }), context);
  await begun.promise;
  controller.abort(new RunStopped("cancelled"));
  await expect(run).rejects.toThrow("cancelled");
  expect(pool.list()).toMatchObject([{ jobId: null, state: "healthy" }]);
  expect(mustLoad()).toEqual([true, true]);
  await vi.waitFor(() => expect(server.prompts()).toMatchObject([{ interrupted: 1, finished: 0 }]));
  expect(await engine.run(scene.newTask({ workflow: "t2i_sd15" }), newContext().context)).toHaveLength(1);
  expect(mustLoad()).toEqual([true, false]);
});

test("F28 a run that takes too long is interrupted and told of as the server's", async () => {
  const server = await scene.startServer();
  server.inject({ kind: "hang" });
  const { engine, pool } = await scene.openEngine(server);
  const report = vi.spyOn(pool, "report");
  const limit = new AbortController();
  const { signal } = limit;
  const run = engine.run(scene.newTask({ workflow: "t2i_sd15" }), newContext({ signal }).context);
  await expect.poll(() => server.prompts()).toMatchObject([{ started: 1 }]);
  limit.abort(new DOMException("It takes too long.", "TimeoutError"));
  await expect(run).rejects.toMatchObject({ name: "TimeoutError" });
  expect(report).toHaveBeenCalledWith(
    server.url,
    expect.objectContaining({ code: "engine_timeout" }),
    expect.any(String),
  );
  // The cancel may go on behind the run.
  await vi.waitFor(() => expect(server.prompts()).toMatchObject([{ interrupted: 1 }]));
});

test("F10 nothing is posted for a job that somebody else holds", async () => {
  const server = await scene.startServer();
  const { engine, pool } = await scene.openEngine(server);
  const report = vi.spyOn(pool, "report");
  const onSubmitting = () => Promise.reject(new RunStopped("lost"));
  const run = engine.run(scene.newTask({ workflow: "t2i_sd15" }), newContext({ onSubmitting }).context);
  await expect(run).rejects.toThrow("lost");
  expect(server.prompts()).toEqual([]);
  expect(report).not.toHaveBeenCalled();
});

test.each([
  [{ kind: "gpu-out-of-memory" }, "gpu_out_of_memory"],
  [{ kind: "node-error" }, "engine_failed"],
  [{ kind: "node-error", nodeClass: "VAEDecode", message: "no picture of a red chai..." }, "engine_failed"],
  [{ kind: "garbage", path: "/view" }, "engine_failed"],
  [{ kind: "html", status: 502, path: "/view" }, "proxy_error"],
  [{ kind: "disk-full" }, "engine_failed"],
] satisfies [Fault, string][])("F27 A12 %o is told with the server's address", async (fault, code) => {
  const server = await scene.startServer();
  const { engine, pool } = await scene.openEngine(server);
  const report = vi.spyOn(pool, "report");
  server.inject(fault);
  const error = await engine
    .run(scene.newTask({ workflow: "t2i_sd15" }), newContext().context)
    .catch((thrown) => thrown);
  expect(error).toMatchObject({ code, details: { server: server.url } });
  // The server's own text is for the admin's story alone, and holds no prompt.
  const { exception = "", ...details } = error.details;
  expect(JSON.stringify(details) + error.message).not.toMatch(/red chair|\/opt|Traceback/);
  expect(exception).not.toMatch(/red|chai|Traceback/);
  // The log gets the cause.
  expect(String(error.cause)).not.toMatch(/red|chai/);
  expect(report).toHaveBeenCalledWith(server.url, expect.objectContaining({ code }), expect.any(String));
});

test("A12 a server that gives prompts ids of its own is given one prompt and no more", async () => {
  const server = await scene.startServer();
  const { engine, pool } = await scene.openEngine(server);
  server.inject({ kind: "own-prompt-id", times: "forever" });
  const run = () => engine.run(scene.newTask({ workflow: "t2i_sd15" }), newContext().context);
  await expect(run()).rejects.toMatchObject({ code: "node_missing" });
  await expect(run()).rejects.toMatchObject({ code: "server_busy" });
  expect(server.prompts()).toHaveLength(1);
  expect(pool.list()[0]?.needs).toEqual([]);
});

/** Runs one picture after the other, none of them known to the server's cache; what each ended with. */
function codesOf(engine: Awaited<ReturnType<typeof scene.openEngine>>["engine"]) {
  let seed = 0;
  return (workflow = "t2i_sd15") => {
    const params = { prompt: "a red chair", seed: (seed += 1) };
    return engine.run(scene.newTask({ workflow, params }), newContext().context).then(
      () => "ok",
      (thrown) => thrown.code,
    );
  };
}

test("F27 of a full disk only the run that found it is charged, until a picture can be saved again", async () => {
  const server = await scene.startServer();
  const { engine, pool } = await scene.openEngine(server);
  const codeOf = codesOf(engine);
  const isHealthy = () => pool.list()[0]?.state === "healthy";
  server.inject({ kind: "disk-full" });
  for (const code of ["engine_failed", "server_lost", "ok", "ok"]) {
    await vi.waitUntil(isHealthy, { timeout: 20_000 });
    if (code === "ok") server.clearFaults();
    expect(await codeOf()).toBe(code);
  }
  server.inject({ kind: "disk-full" });
  expect(await codeOf()).toBe("engine_failed");
  expect(server.stats().frees).toBe(0);
});

test("F27 a node that cannot write into its own folder is charged each time, and other workflows go on", async () => {
  const server = await scene.startServer();
  const { engine, pool } = await scene.openEngine(server);
  const codeOf = codesOf(engine);
  const readOnly = {
    kind: "node-error",
    nodeClass: "KSampler",
    exceptionType: "OSError",
    message: "[Errno 30] Read-only file system: '/opt/comfyui/custom_nodes/own/cache.json'",
  } as const;
  for (let run = 0; run < 2; run += 1) {
    server.inject(readOnly);
    expect(await codeOf()).toBe("engine_failed");
    expect(pool.list()[0]?.state).toBe("healthy");
  }
  expect(await codeOf("t2i_sdxl")).toBe("ok");
});

test("F27 of a card that is lost only the run that found it is charged, until the server makes a picture again", async () => {
  const server = await scene.startServer();
  const { engine, pool } = await scene.openEngine(server);
  const acquired = vi.spyOn(pool, "acquire");
  server.inject({ kind: "card-lost" });
  const codeOf = codesOf(engine);
  const isHealthy = () => pool.list()[0]?.state === "healthy";
  expect(await codeOf()).toBe("engine_failed");
  await vi.waitUntil(isHealthy, { timeout: 10_000 });
  expect(await codeOf()).toBe("server_lost");
  await server.restart();
  await vi.waitUntil(isHealthy, { timeout: 10_000 });
  expect(await codeOf()).toBe("ok");
  server.inject({ kind: "card-lost" });
  expect(await codeOf()).toBe("engine_failed");
  expect(acquired).toHaveBeenCalledTimes(4);
});

test.each([
  [
    { kind: "other-files", extension: "webm" },
    "no_picture",
    /a file of the kind "webm" at node \d+ \(SaveImage\)/,
  ],
  [{ kind: "other-files", extension: "exr" }, "no_picture", /a file of the kind "exr"/],
  [{ kind: "outside-files" }, "no_picture", /HTTP 403.*outside of the server's own folders/],
  [
    { kind: "node-error", message: "BFL API did not return an image due to: Request Moderated." },
    "engine_blocked",
    /^The node KSampler failed: RuntimeError: .*Request Moderated/,
  ],
  [
    {
      kind: "node-error",
      exceptionType: "Exception",
      message: "Unauthorized: Please login first to use this node.",
    },
    "node_failed",
    /^The node KSampler failed: Exception: Unauthorized: Please login/,
  ],
  [
    {
      kind: "node-error",
      nodeClass: "SaveImage",
      exceptionType: "FileNotFoundError",
      message: "'/opt/out/a/b.png'",
    },
    "node_failed",
    /^The node SaveImage failed: FileNotFoundError: 'b\.png'/,
  ],
] satisfies [Fault, string, RegExp][])(
  "A12 %o fails with the words of the node",
  async (fault, code, words) => {
    const server = await scene.startServer();
    const { engine, pool } = await scene.openEngine(server);
    server.inject(fault);
    const run = engine.run(scene.newTask({ workflow: "t2i_sd15" }), newContext().context);
    await expect(run).rejects.toMatchObject({ code, message: expect.stringMatching(words) });
    expect(pool.list()).toMatchObject([{ state: "healthy", lastError: null }]);
  },
);

test("A12 of a picture that is named twice, beside a film and a text, there is one result", async () => {
  const server = await scene.startServer();
  const { engine } = await scene.openEngine(server);
  server.inject({ kind: "more-files" });
  const outputs = await engine.run(scene.newTask({ workflow: "t2i_sd15" }), newContext().context);
  expect(outputs).toMatchObject([{ mime: "image/png" }]);
});

test.each(["avif", "tiff"])("A12 a picture that a node saves as %s is a result", async (extension) => {
  const server = await scene.startServer();
  const { engine } = await scene.openEngine(server);
  server.inject({ kind: "other-files", extension });
  const outputs = await engine.run(scene.newTask({ workflow: "t2i_sd15" }), newContext().context);
  expect(outputs).toMatchObject([{ mime: "image/png" }]);
  expect(await sharp(outputs[0]?.path).metadata()).toMatchObject({ format: "png", hasAlpha: false });
});

test("F30 a full disk of the worker is not the server's fault", async () => {
  const server = await scene.startServer();
  const { engine, pool } = await scene.openEngine(server);
  const report = vi.spyOn(pool, "report");
  const workDir = path.join(scene.folder, "full-disk");
  await mkdir(workDir);
  await symlink("/dev/full", path.join(workDir, "fetched-0"));
  const task = { ...scene.newTask({ workflow: "t2i_sd15" }), workDir };
  const error: unknown = await engine.run(task, newContext().context).catch((thrown: unknown) => thrown);
  expect(toAppError(error).code).toBe("storage_unavailable");
  expect(report.mock.calls.map(([, outcome]) => outcome)).toEqual(["begun"]);
  expect(pool.list()).toMatchObject([{ jobId: null, state: "healthy" }]);
});

test("F30 a result that the worker has no memory to read is not the server's fault, and is not made again", async () => {
  const server = await scene.startServer();
  const { engine, pool } = await scene.openEngine(server);
  const report = vi.spyOn(pool, "report");
  const { context, submissions } = newContext();
  const task = scene.newTask({ workflow: "t2i_sd15" });
  const prototype = Object.getPrototypeOf(sharp(Buffer.alloc(1))) as Sharp;
  const said = new Error("vips_image_write_to_memory: out of memory -- size == 183MB");
  const spy = vi.spyOn(prototype, "metadata").mockRejectedValue(said);
  const error: unknown = await engine.run(task, context).catch((thrown: unknown) => thrown);
  spy.mockRestore();
  expect(toAppError(error).code).toBe("out_of_memory");
  expect(report.mock.calls.map(([, outcome]) => outcome)).toEqual(["begun"]);
  const [submission = null] = submissions;
  expect(await engine.run({ ...task, submission }, newContext().context)).toHaveLength(1);
  expect(server.prompts()).toHaveLength(1);
});

test("F25 the next try avoids the server that was lost", async () => {
  const [lost, good] = [await scene.startServer(), await scene.startServer()];
  lost.inject({ kind: "hang" });
  const { engine } = await scene.openEngine(lost, good);
  const task = scene.newTask({ workflow: "t2i_sd15", avoid: [good.url] });
  const run = engine.run(task, newContext().context);
  run.catch(() => undefined);
  await vi.waitUntil(() => lost.prompts()[0]?.started === 1, { timeout: 10_000 });
  await lost.kill();
  await expect(run).rejects.toMatchObject({ code: "server_lost", details: { server: lost.url } });
  expect(await engine.run({ ...task, avoid: [lost.url] }, newContext().context)).toHaveLength(1);
});

test("A12 without a server that can run the workflow the job waits", async () => {
  const server = await scene.startServer({ models: {} });
  const { engine } = await scene.openEngine(server);
  const run = engine.run(scene.newTask({ workflow: "t2i_sd15" }), newContext().context);
  await expect(run).rejects.toMatchObject({ code: "server_busy" });
});

test("LoRAs are put into the graph as the server spells them, on a server that has them", async () => {
  const loras = ["style/Fur_Detail.safetensors"];
  const [without, having] = [await scene.startServer({ loras: [] }), await scene.startServer({ loras })];
  const { engine, pool } = await scene.openEngine(without, having);
  expect(pool.list().map((server) => server.loras)).toEqual([[], loras]);
  const wanted = [{ name: "fur_detail.safetensors", weight: 0.5 }];
  const task = scene.newTask({ workflow: "t2i_sd15" });
  for (let run = 0; run < 2; run += 1)
    await engine.run({ ...task, params: { ...task.params, loras: wanted } }, newContext().context);
  expect([without.prompts().length, having.prompts().length]).toEqual([0, 2]);
  expect(Object.values(having.prompts()[0]?.graph ?? {})).toContainEqual(
    expect.objectContaining({
      class_type: "LoraLoader",
      inputs: expect.objectContaining({ lora_name: loras[0], strength_model: 0.5, strength_clip: 0.5 }),
    }),
  );
});

test("a checkpoint and a sampler of a job are written as the server lists them, on a server that has them", async () => {
  const checkpoints = (name: string) => ({ checkpoints: [name] });
  const [without, having] = [
    await scene.startServer({ models: checkpoints("other.safetensors") }),
    await scene.startServer({ models: checkpoints("XL/Painted_World.ckpt") }),
  ];
  const { engine, pool } = await scene.openEngine(without, having);
  expect(pool.list().map(({ lists }) => lists["CheckpointLoaderSimple.ckpt_name"])).toEqual([
    ["other.safetensors"],
    ["XL/Painted_World.ckpt"],
  ]);
  const task = scene.newTask({ workflow: "t2i_checkpoint" });
  const chosen = { checkpoint: "painted_world.safetensors", sampler: "euler_ancestral", scheduler: "beta" };
  for (let run = 0; run < 2; run += 1)
    await engine.run({ ...task, params: { ...task.params, ...chosen } }, newContext().context);
  expect([without.prompts().length, having.prompts().length]).toEqual([0, 2]);
  const nodes = Object.values(having.prompts()[0]?.graph ?? {});
  expect(nodes).toContainEqual({
    class_type: "CheckpointLoaderSimple",
    inputs: { ckpt_name: "XL/Painted_World.ckpt" },
  });
  expect(nodes).toContainEqual(
    expect.objectContaining({
      class_type: "KSampler",
      inputs: expect.objectContaining({ sampler_name: "euler_ancestral", scheduler: "beta" }),
    }),
  );
});

test("a server without any checkpoint does not offer the workflow that takes one, and says what it lacks", async () => {
  const { pool } = await scene.openEngine(await scene.startServer({ models: {} }));
  const [state] = pool.list();
  expect(state?.needs).not.toContain("comfyui/t2i_checkpoint");
  expect(state?.missing["t2i_checkpoint"]).toEqual(["model of any name (CheckpointLoaderSimple.ckpt_name)"]);
});

test.each([
  ["checkpoint", "gone.safetensors"],
  ["sampler", "euler_of_an_extension"],
])("a job whose %s no server has now goes to others or waits, and says which one", async (name, value) => {
  const server = await scene.startServer();
  const { engine } = await scene.openEngine(server);
  const task = scene.newTask({ workflow: "t2i_checkpoint" });
  const params = { ...task.params, checkpoint: "sd_xl_base_1.0.safetensors", [name]: value };
  await expect(engine.run({ ...task, params }, newContext().context)).rejects.toMatchObject({
    code: "server_busy",
    message: expect.stringContaining(value),
    details: { server: server.url, away: expect.arrayContaining([value]) },
  });
  expect(server.prompts()).toEqual([]);
});

test("a job whose LoRA no server has now goes to others or waits, and says which one", async () => {
  const server = await scene.startServer();
  const { engine } = await scene.openEngine(server);
  const task = scene.newTask({ workflow: "t2i_sd15" });
  const params = { ...task.params, loras: [{ name: "gone.safetensors", weight: 1 }] };
  await expect(engine.run({ ...task, params }, newContext().context)).rejects.toMatchObject({
    code: "server_busy",
    message: expect.stringContaining("gone.safetensors"),
    details: { server: server.url },
  });
  expect(server.prompts()).toEqual([]);
});
