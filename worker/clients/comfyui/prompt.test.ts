import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, test, vi } from "vitest";
import {
  type ComfyOptions,
  type ComfySimulator,
  type Fault,
  startComfySimulator,
} from "@atelier/testing/comfyui";
import { inAll } from "@atelier/testing/cases";
import {
  begun,
  endServersAfterAll,
  newInput,
  signal,
  startServer,
  storyOf,
} from "./fixtures/prompt-scene.ts";
import type { PromptGraph } from "./http.ts";
import { cancelPrompt, postPrompt } from "./post.ts";
import { findPrompt } from "./routes.ts";
import { adoptPrompt, runPrompt } from "./prompt.ts";

endServersAfterAll();

/** For a condition that comes soon, though others run at once. */
const waiting = { timeout: 10_000 };

/**
 * The end of an aborted run, or "late" where none comes within 2 s; a run waits 0.8 s for its cancel. Not measured but
 * raced: the timers of a process fire in their order, however long the machine stands still.
 */
const soon = (run: Promise<unknown>) => Promise.race([run, sleep(2_000, "late")]);

describe("beside others", () => {
  const open: ComfySimulator[] = [];
  afterEach(async () => {
    for (const server of open.splice(0)) await server.close();
  });

  async function start(options: ComfyOptions = {}): Promise<ComfySimulator> {
    const server = await startComfySimulator(options);
    open.push(server);
    return server;
  }

  const empty = { class_type: "EmptyImage", inputs: { width: 64, height: 48, batch_size: 3, color: 1 } };

  /** Pictures, steps and a text of somebody who posted without a client. */
  const foreignGraph = {
    "1": empty,
    size: { class_type: "GetImageSize", inputs: { image: ["1", 0] } },
    shown: { class_type: "PreviewAny", inputs: { source: ["size", 0] } },
    sent: { class_type: "SaveImageWebsocket", inputs: { images: ["1", 0] } },
  };

  const ourGraph: PromptGraph = {
    "1": { ...empty, inputs: { ...empty.inputs, color: 2 } },
    "2": { class_type: "SaveImage", inputs: { images: ["1", 0], filename_prefix: "ours" } },
  };

  function newInput(graph: PromptGraph) {
    const promptId = randomUUID();
    const seen: string[] = [];
    const previews: Uint8Array[] = [];
    const onProgress = (_: number, nodeClass: string) => seen.push(nodeClass);
    const onPreview = (bytes: Uint8Array) => previews.push(bytes);
    const { signal } = new AbortController();
    return { graph, promptId, clientId: promptId, signal, onProgress, onPreview, seen, previews };
  }

  /** Until a prompt has begun; `promptId` is any one by default. */
  const begun = (server: ComfySimulator, promptId?: string) =>
    vi.waitUntil(
      () =>
        server
          .prompts()
          .some((story) => story.started === 1 && (promptId ?? story.promptId) === story.promptId),
      { ...waiting, interval: 5 },
    );

  test("A12 what a server tells everybody about another's prompt never reaches our job", async () => {
    const server = await start();
    server.inject({ kind: "hold", nodeClass: "EmptyImage" });
    await fetch(`${server.url}/prompt`, { method: "POST", body: JSON.stringify({ prompt: foreignGraph }) });
    await begun(server);
    const input = newInput(ourGraph);
    const run = runPrompt(server, input);
    await vi.waitUntil(() => server.stats().prompts[input.promptId]?.posted === 1, waiting);
    expect(server.stats().sockets).toBe(1);
    server.release();
    await expect(run).resolves.toHaveLength(3);
    expect(input.previews).toEqual([]);
    expect(new Set(input.seen)).toEqual(new Set(["EmptyImage", "SaveImage"]));
  });

  test("A12 our own pictures still come when the server sends them whole", async () => {
    const server = await start();
    const input = newInput({ "1": ourGraph["1"] ?? empty, "2": foreignGraph.sent });
    await expect(runPrompt(server, input)).resolves.toEqual([]);
    expect(input.previews.length).toBeGreaterThan(0);
  });

  test.each(["0.8.0", "new"] as const)(
    "F36 %s: an interrupt that the server forgot is sent again",
    async (mode) => {
      const server = await start({ mode });
      server.inject({ kind: "hang" });
      server.inject({ kind: "interrupt-lost" });
      const input = newInput(ourGraph);
      const run = runPrompt(server, input);
      run.catch(() => undefined);
      await begun(server, input.promptId);
      await cancelPrompt(server, input.promptId, { signal: AbortSignal.timeout(10_000) });
      expect(server.stats().prompts[input.promptId]).toMatchObject({ interrupted: 1, finished: 0 });
      await expect(run).rejects.toMatchObject({ code: "engine_interrupted" });
    },
  );
});

// Alone: the simulator has to finish before the cut is taken for a lost server.
describe("run prompt lost", () => {
  test("F20 a cut of the network that ends soon costs nothing", async () => {
    const server = await startServer();
    server.inject({ kind: "hold" });
    const input = newInput();
    const run = runPrompt(server, input);
    await begun(server, input.promptId);
    await server.disconnect();
    server.release();
    await vi.waitUntil(() => storyOf(server, input.promptId)?.finished === 1, { timeout: 10_000 });
    await server.reconnect();
    await expect(run).resolves.toHaveLength(1);
    expect(storyOf(server, input.promptId)?.posted).toBe(1);
  });
});

describe.concurrent("run prompt adopt", () => {
  test("F3 F4 a prompt that another process posted is adopted, running or done", async () => {
    const server = await startServer({ stepMs: 50 });
    const { promptId, clientId, graph } = newInput();
    await postPrompt(server, { promptId, clientId, graph }, { signal });
    await begun(server, promptId);
    const seen: string[] = [];
    const onProgress = (_: number, nodeClass: string) => seen.push(nodeClass);
    const files = await adoptPrompt(server, newInput({ promptId, graph, onProgress }));
    expect(files).toHaveLength(1);
    expect(seen).toContain("KSampler");
    expect(await adoptPrompt(server, newInput({ promptId, graph }))).toEqual(files);
    expect(storyOf(server, promptId)).toMatchObject({ posted: 1, finished: 1 });
  });

  test("F3 a prompt that is gone, stopped or failed is not adopted", async () => {
    const server = await startServer({ stepMs: 50 });
    expect(await adoptPrompt(server, newInput())).toBeNull();
    const stopped = newInput();
    await postPrompt(server, stopped, { signal });
    await begun(server, stopped.promptId);
    await cancelPrompt(server, stopped.promptId, { signal });
    await vi.waitFor(
      async () => expect((await findPrompt(server, stopped.promptId, { signal })).state).toBe("ended"),
      waiting,
    );
    expect(await adoptPrompt(server, newInput({ promptId: stopped.promptId }))).toBeNull();
  });

  test("F10 a run that is continued elsewhere leaves its prompt on the server", async () => {
    const server = await startServer({ stepMs: 50 });
    const controller = new AbortController();
    const input = newInput({ signal: controller.signal, staysOnAbort: () => true });
    const run = runPrompt(server, input);
    await begun(server, input.promptId);
    controller.abort(new Error("lost"));
    await expect(run).rejects.toThrow("lost");
    expect(await adoptPrompt(server, newInput({ promptId: input.promptId }))).toHaveLength(1);
    expect(storyOf(server, input.promptId)).toMatchObject({ posted: 1, finished: 1, interrupted: 0 });
  });
});

describe.concurrent("run prompt lost", () => {
  const asked = (server: ComfySimulator) => {
    const { requests } = server.stats();
    return (requests["GET /history/{id}"] ?? 0) + (requests["GET /queue"] ?? 0);
  };

  test("F25 a server that is killed in mid-job is lost", async () => {
    const server = await startServer({ stepMs: 200 });
    const input = newInput();
    const run = runPrompt(server, input);
    run.catch(() => undefined);
    await begun(server, input.promptId);
    const killedAt = performance.now();
    await server.kill();
    await expect(run).rejects.toMatchObject({ code: "server_lost", details: { reason: "ECONNREFUSED" } });
    expect(performance.now() - killedAt).toBeLessThan(10_000);
  });

  test("F25 a server that comes back empty has lost the prompt", async () => {
    const server = await startServer({ stepMs: 200 });
    const input = newInput();
    const run = runPrompt(server, input);
    run.catch(() => undefined);
    await begun(server, input.promptId);
    await server.restart(500);
    await expect(run).rejects.toMatchObject({ code: "server_lost", details: { reason: "forgotten" } });
  });

  test("F20 answers that take a second each delay a prompt and nothing more", async () => {
    const server = await startServer();
    server.inject({ kind: "slow-answer", ms: 1_000, times: "forever" });
    const input = newInput();
    await expect(runPrompt(server, input)).resolves.toHaveLength(1);
    expect(storyOf(server, input.promptId)).toMatchObject({ posted: 1, finished: 1 });
  });

  test(
    "F20 a server that says nothing for a while, as one that loads a large model, has not lost the prompt",
    inAll,
    async () => {
      const server = await startServer();
      server.inject({ kind: "hold" });
      const input = newInput();
      const run = runPrompt(server, input);
      await begun(server, input.promptId);
      server.inject({ kind: "never-answers", times: "forever" });
      const before = asked(server);
      // Each of them is waited for for three seconds.
      await vi.waitUntil(() => asked(server) >= before + 4, { timeout: 30_000 });
      server.clearFaults();
      server.release();
      await expect(run).resolves.toHaveLength(1);
      expect(storyOf(server, input.promptId)).toMatchObject({ posted: 1, finished: 1 });
    },
  );

  test("F20 a server that takes the prompt and then answers nothing any more is lost", inAll, async () => {
    const server = await startServer({ stepMs: 500 });
    server.inject({ kind: "socket-silent" });
    for (const path of ["/history", "/queue"])
      server.inject({ kind: "never-answers", path, times: "forever" });
    const run = runPrompt(server, newInput());
    await expect(run).rejects.toMatchObject({ code: "server_lost", details: { reason: "timeout" } });
  });
});

describe.concurrent("run", () => {
  describe.each(["0.8.0", "new"] as const)("with a server of the line %s", (mode) => {
    test("F36 aborting a running prompt interrupts it and no other", async () => {
      const server = await startServer({ mode, stepMs: 50 });
      const controller = new AbortController();
      const input = newInput({ signal: controller.signal });
      const run = runPrompt(server, input);
      await begun(server, input.promptId);
      const other = runPrompt(server, newInput());
      controller.abort(new Error("cancelled"));
      await expect(run).rejects.toThrow("cancelled");
      await expect(other).resolves.toHaveLength(1);
      expect(storyOf(server, input.promptId)).toMatchObject({ interrupted: 1, finished: 0 });
    });

    test("F36 aborting a waiting prompt takes it out of the line and leaves the running one", async () => {
      const server = await startServer({ mode, stepMs: 50 });
      const first = newInput();
      const running = runPrompt(server, first);
      await begun(server, first.promptId);
      const controller = new AbortController();
      const input = newInput({ signal: controller.signal });
      const run = runPrompt(server, input);
      await vi.waitUntil(() => storyOf(server, input.promptId)?.posted === 1, waiting);
      controller.abort(new Error("cancelled"));
      await expect(run).rejects.toThrow("cancelled");
      await expect(running).resolves.toHaveLength(1);
      expect(storyOf(server, input.promptId)).toMatchObject({ deleted: 1, started: 0 });
      expect(storyOf(server, first.promptId)).toMatchObject({ finished: 1, interrupted: 0 });
    });
  });

  test("F36 an abort during the post takes back what the server accepted all the same", async () => {
    const server = await startServer({ stepMs: 50 });
    server.inject({ kind: "slow-answer", ms: 300, path: "POST /prompt" });
    const controller = new AbortController();
    const input = newInput({ signal: controller.signal });
    const run = runPrompt(server, input);
    await vi.waitUntil(() => server.stats().requests["POST /prompt"] === 1, waiting);
    controller.abort(new Error("cancelled"));
    await expect(run).rejects.toThrow("cancelled");
    await vi.waitFor(
      () => expect(storyOf(server, input.promptId)).toMatchObject({ interrupted: 1, finished: 0 }),
      waiting,
    );
  });

  test("F28 F36 a server that hears no interrupt keeps nobody waiting", async () => {
    const server = await startServer();
    server.inject({ kind: "hang", deaf: true });
    const controller = new AbortController();
    const input = newInput({ signal: controller.signal });
    const run = runPrompt(server, input);
    await begun(server, input.promptId);
    controller.abort(new Error("too long"));
    await expect(soon(run)).rejects.toThrow("too long");
    // The cancel goes on behind the run, and repeats its interrupt only after 2 s.
    expect(server.stats().interrupts).toBeLessThanOrEqual(1);
    await vi.waitUntil(() => server.stats().interrupts > 0, waiting);
    expect(storyOf(server, input.promptId)).toMatchObject({ interrupted: 0, finished: 0 });
  });

  test("F20 a prompt that was given up on for the pages of a proxy is taken off as soon as they end", async () => {
    const server = await startServer();
    server.inject({ kind: "hang" });
    server.inject({ kind: "socket-silent" });
    const input = newInput();
    const run = runPrompt(server, input);
    run.catch(() => undefined);
    await begun(server, input.promptId);
    server.inject({ kind: "html", status: 502, times: "forever" });
    await expect(run).rejects.toMatchObject({ code: "proxy_error" });
    expect(storyOf(server, input.promptId)).toMatchObject({ interrupted: 0, finished: 0 });
    server.clearFaults();
    await vi.waitUntil(() => storyOf(server, input.promptId)?.interrupted === 1, { timeout: 10_000 });
  });

  test("F20 a prompt on a server that was cut off is taken off when it can be reached again", async () => {
    const server = await startServer();
    server.inject({ kind: "hang" });
    const input = newInput();
    const run = runPrompt(server, input);
    run.catch(() => undefined);
    await begun(server, input.promptId);
    await server.disconnect();
    await expect(run).rejects.toMatchObject({ code: "server_lost" });
    await server.reconnect();
    await vi.waitUntil(() => storyOf(server, input.promptId)?.interrupted === 1, { timeout: 10_000 });
  });

  test(
    "F36 an abort is over at once, and the time to cancel begins when the post is known to have arrived",
    inAll,
    async () => {
      const server = await startServer();
      // Longer than a post is waited for, and than a cancel is tried for.
      server.inject({ kind: "slow-answer", ms: 60_000, path: "POST /prompt", isDone: true });
      server.inject({ kind: "slow-answer", ms: 2_000, path: "GET /history" });
      server.inject({ kind: "hang" });
      const controller = new AbortController();
      const input = newInput({ signal: controller.signal });
      const run = runPrompt(server, input);
      await begun(server, input.promptId);
      controller.abort(new Error("cancelled"));
      await expect(soon(run)).rejects.toThrow("cancelled");
      await vi.waitUntil(() => storyOf(server, input.promptId)?.interrupted === 1, {
        timeout: 50_000,
        interval: 50,
      });
    },
  );

  test("F3 A17 a run that is handed back while it posts stays on its server for the next one", async () => {
    const server = await startServer({ stepMs: 50 });
    server.inject({ kind: "slow-answer", ms: 1_500, path: "POST /prompt" });
    const controller = new AbortController();
    const input = newInput({ signal: controller.signal, staysOnAbort: () => true });
    const run = runPrompt(server, input);
    await vi.waitUntil(() => server.stats().requests["POST /prompt"] === 1, waiting);
    controller.abort(new Error("stopping"));
    await expect(run).rejects.toThrow("stopping");
    expect(await adoptPrompt(server, newInput({ promptId: input.promptId }))).toHaveLength(1);
    expect(storyOf(server, input.promptId)).toMatchObject({ posted: 1, finished: 1, interrupted: 0 });
  });

  test("F3 A17 a post that arrives long after its run was handed back is taken off: the next one has posted anew", async () => {
    const server = await startServer();
    server.inject({ kind: "slow-answer", ms: 6_000, path: "POST /prompt" });
    server.inject({ kind: "hang" });
    const controller = new AbortController();
    const input = newInput({ signal: controller.signal, staysOnAbort: () => true });
    const run = runPrompt(server, input);
    await vi.waitUntil(() => server.stats().requests["POST /prompt"] === 1, waiting);
    controller.abort(new Error("stopping"));
    await expect(run).rejects.toThrow("stopping");
    expect(storyOf(server, input.promptId)).toBeUndefined();
    await vi.waitFor(
      () => expect(storyOf(server, input.promptId)).toMatchObject({ posted: 1, interrupted: 1, finished: 0 }),
      { timeout: 20_000 },
    );
  });
});

describe.concurrent("run prompt", () => {
  describe.each(["0.8.0", "new"] as const)("with a server of the line %s", (mode) => {
    test("A12 a prompt runs to its files, with progress and previews", async () => {
      const server = await startServer({ mode, stepMs: 30 });
      const seen: [number, string][] = [];
      const previews: Uint8Array[] = [];
      const onProgress = (fraction: number, nodeClass: string) => seen.push([fraction, nodeClass]);
      const input = newInput({ onProgress, onPreview: (bytes) => previews.push(bytes) });
      const files = await runPrompt(server, input);
      expect(files).toEqual([
        {
          nodeId: expect.any(String),
          filename: expect.stringMatching(/\.png$/),
          subfolder: expect.any(String),
          type: "output",
        },
      ]);
      expect(seen.some(([, nodeClass]) => nodeClass === "KSampler")).toBe(true);
      const fractions = seen.map(([fraction]) => fraction);
      expect(fractions).toEqual(fractions.toSorted((a, b) => a - b));
      expect(previews.length).toBeGreaterThan(0);
      expect(storyOf(server, input.promptId)).toMatchObject({
        posted: 1,
        finished: 1,
        clientId: input.clientId,
      });
    });
  });

  test("F28 a prompt has begun when its server works at it, not while it stands in line behind others", async () => {
    const server = await startServer();
    server.inject({ kind: "hold" });
    const first = newInput();
    const running = runPrompt(server, first);
    await begun(server, first.promptId);
    const begins: unknown[] = [];
    const input = newInput({ onBegin: () => begins.push(storyOf(server, input.promptId)?.started) });
    const run = runPrompt(server, input);
    await vi.waitUntil(() => storyOf(server, input.promptId)?.posted === 1, waiting);
    server.release();
    await Promise.all([running, run]);
    expect(begins).toEqual([1]);
  });

  test("F26 F28 that a prompt has begun is seen without its socket", async () => {
    const server = await startServer();
    server.inject({ kind: "socket-silent" });
    server.inject({ kind: "hold" });
    let begins = 0;
    const run = runPrompt(server, newInput({ onBegin: () => (begins += 1) }));
    await vi.waitUntil(() => begins > 0, { timeout: 30_000 });
    server.release();
    await run;
    expect(begins).toBe(1);
  });

  test.each([
    { kind: "socket-silent" },
    { kind: "socket-drop" },
    { kind: "socket-drop", refuse: true },
    { kind: "socket-no-end" },
    { kind: "socket-refused", times: "forever" },
    { kind: "history-late", ms: 400 },
    { kind: "odd-numbers", times: "forever" },
  ] satisfies Fault[])("F26 a prompt ends within 3 s of its end on the server despite %o", async (fault) => {
    const server = await startServer({ stepMs: 20 });
    server.inject(fault);
    const input = newInput();
    const run = runPrompt(server, input);
    await vi.waitUntil(() => storyOf(server, input.promptId)?.finished === 1, {
      timeout: 20_000,
      interval: 10,
    });
    // Not measured but raced, as an aborted run.
    expect(await Promise.race([run, sleep(3_000, "late")])).toEqual([expect.anything()]);
    expect(storyOf(server, input.promptId)?.posted).toBe(1);
  });

  test.each([
    [{ kind: "gpu-out-of-memory" }, "gpu_out_of_memory"],
    [{ kind: "cpu-out-of-memory" }, "out_of_memory"],
    [{ kind: "execution-blocked" }, "engine_blocked"],
    [{ kind: "node-error" }, "engine_failed"],
    [{ kind: "html", status: 413, path: "POST /prompt" }, "request_too_large"],
    [{ kind: "html", status: 502, path: "POST /prompt" }, "proxy_error"],
  ] satisfies [Fault, string][])("F27 A12 %o", async (fault, code) => {
    const server = await startServer();
    server.inject(fault);
    await expect(runPrompt(server, newInput())).rejects.toMatchObject({ code });
  });

  test("F3 the socket opens while the post is prepared, and without the preparation nothing is posted", async () => {
    const server = await startServer();
    const prepared = Promise.withResolvers<void>();
    const input = newInput({ beforePost: () => prepared.promise });
    const run = runPrompt(server, input);
    await vi.waitUntil(() => server.stats().sockets === 1, { timeout: 10_000, interval: 5 });
    expect(storyOf(server, input.promptId)).toBeUndefined();
    prepared.resolve();
    await expect(run).resolves.toHaveLength(1);
    expect(storyOf(server, input.promptId)).toMatchObject({ posted: 1, finished: 1 });
    const lost = newInput({ beforePost: () => Promise.reject(new Error("the lease is lost")) });
    await expect(runPrompt(server, lost)).rejects.toThrow("the lease is lost");
    expect(storyOf(server, lost.promptId)).toBeUndefined();
  });

  test("A12 a prompt that somebody else stopped", async () => {
    const server = await startServer({ stepMs: 50 });
    const input = newInput();
    const run = runPrompt(server, input);
    run.catch(() => undefined);
    await begun(server, input.promptId);
    await cancelPrompt(server, input.promptId, { signal });
    await expect(run).rejects.toMatchObject({ code: "engine_interrupted" });
  });

  test("A12 models and nodes that the server does not have", async () => {
    const bare = await startServer({ models: {} });
    await expect(runPrompt(bare, newInput())).rejects.toMatchObject({
      code: "model_missing",
      details: { models: [{ class: "CheckpointLoaderSimple", input: "ckpt_name" }] },
    });
    const old = await startServer({ missingClasses: ["KSampler"] });
    await expect(runPrompt(old, newInput())).rejects.toMatchObject({
      code: "node_missing",
      details: { classes: ["KSampler"] },
    });
  });

  test("A12 a prompt that was taken in part does not stay on the server", async () => {
    const server = await startServer({ stepMs: 100 });
    server.inject({ kind: "node-errors-with-200" });
    const input = newInput();
    await expect(runPrompt(server, input)).rejects.toMatchObject({ code: "graph_invalid" });
    expect(storyOf(server, input.promptId)).toMatchObject({ posted: 1, finished: 0 });
  });

  test("A12 a server that gives the prompt an id of its own is too old, and keeps nothing of it", async () => {
    const server = await startServer();
    server.inject({ kind: "hang" });
    server.inject({ kind: "own-prompt-id" });
    await expect(runPrompt(server, newInput())).rejects.toMatchObject({
      code: "node_missing",
      message: expect.stringContaining("too old"),
    });
    expect(server.prompts()).toMatchObject([{ posted: 1, interrupted: 1 }]);
  });

  test("F3 a post whose answer was lost is found in the queue and not sent again", async () => {
    const server = await startServer({ stepMs: 20 });
    server.inject({ kind: "lost-answer", path: "POST /prompt" });
    const input = newInput();
    await expect(runPrompt(server, input)).resolves.toHaveLength(1);
    expect(storyOf(server, input.promptId)).toMatchObject({ posted: 1, finished: 1 });
  });

  test("A12 a server behind a path and a password", async () => {
    const server = await startServer({ basePath: "/comfy/gpu1", auth: "me:secret", stepMs: 10 });
    await expect(runPrompt(server, newInput())).rejects.toMatchObject({ code: "proxy_error" });
    const url = server.url.replace("//", "//me:secret@");
    const seen: string[] = [];
    const onProgress = (_: number, nodeClass: string) => seen.push(nodeClass);
    await expect(runPrompt({ url }, newInput({ onProgress }))).resolves.toHaveLength(1);
    expect(seen).toContain("KSampler");
  });
});
