import { describe, expect, test, vi } from "vitest";
import type { Fault } from "@atelier/testing/comfyui";
import { inAll } from "@atelier/testing/cases";
import {
  begun,
  endServersAfterAll,
  endWithin,
  newInput,
  runWithoutEnd,
  signal,
  startServer,
  storyOf,
} from "./fixtures/prompt-scene.ts";
import { cancelPrompt } from "./post.ts";
import { adoptPrompt, runPrompt } from "./prompt.ts";

endServersAfterAll();

/** For a condition that comes soon, though others run at once. */
const waiting = { timeout: 10_000 };

/** The end of an aborted run, or "late"; a run waits 0.8 s for its cancel. */
const soon = (run: Promise<unknown>) => endWithin(run, 2_000);

describe.concurrent("run", () => {
  describe.each(["0.8.0", "new"] as const)("with a server of the line %s", (mode) => {
    test("F36 aborting a running prompt interrupts it and no other", async () => {
      const server = await startServer({ mode });
      server.inject({ kind: "hang" });
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
      const server = await startServer({ mode });
      server.inject({ kind: "hold" });
      const first = newInput();
      const running = runPrompt(server, first);
      await begun(server, first.promptId);
      const controller = new AbortController();
      const input = newInput({ signal: controller.signal });
      const run = runPrompt(server, input);
      await vi.waitUntil(() => storyOf(server, input.promptId)?.posted === 1, waiting);
      controller.abort(new Error("cancelled"));
      await expect(run).rejects.toThrow("cancelled");
      await vi.waitUntil(() => storyOf(server, input.promptId)?.deleted === 1, waiting);
      server.release();
      await expect(running).resolves.toHaveLength(1);
      expect(storyOf(server, input.promptId)).toMatchObject({ deleted: 1, started: 0 });
      expect(storyOf(server, first.promptId)).toMatchObject({ finished: 1, interrupted: 0 });
    });
  });

  test("F36 an abort during the post takes back what the server accepted all the same", async () => {
    const server = await startServer();
    const arrival = Promise.withResolvers<void>();
    server.inject({ kind: "slow-answer", until: arrival.promise, path: "POST /prompt" });
    server.inject({ kind: "hang" });
    const controller = new AbortController();
    const input = newInput({ signal: controller.signal });
    const run = runPrompt(server, input);
    await vi.waitUntil(() => server.stats().requests["POST /prompt"] === 1, waiting);
    controller.abort(new Error("cancelled"));
    arrival.resolve();
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
    server.inject({ kind: "socket-silent" });
    const { input, run } = await runWithoutEnd(server);
    server.inject({ kind: "html", status: 502, times: "forever" });
    await expect(run).rejects.toMatchObject({ code: "proxy_error" });
    expect(storyOf(server, input.promptId)).toMatchObject({ interrupted: 0, finished: 0 });
    server.clearFaults();
    await vi.waitUntil(() => storyOf(server, input.promptId)?.interrupted === 1, { timeout: 10_000 });
  });

  test("F20 a prompt on a server that was cut off is taken off when it can be reached again", async () => {
    const server = await startServer();
    const { input, run } = await runWithoutEnd(server);
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
    const handBack = async () => {
      const server = await startServer({ stepMs: 50 });
      const arrival = Promise.withResolvers<void>();
      server.inject({ kind: "slow-answer", until: arrival.promise, path: "POST /prompt" });
      const controller = new AbortController();
      const input = newInput({ signal: controller.signal, staysOnAbort: () => true });
      const run = runPrompt(server, input);
      await vi.waitUntil(() => server.stats().requests["POST /prompt"] === 1, waiting);
      controller.abort(new Error("stopping"));
      const abortedMs = performance.now();
      const end = await endWithin(run, 1_000).catch(() => "early");
      arrival.resolve();
      const lateMs = performance.now() - abortedMs;
      return { server, input, run, end, lateMs };
    };
    let handed = await handBack();
    // The machine stood still for longer than a run waits for its post.
    while (handed.lateMs > 2_500) {
      await handed.run.catch(() => undefined);
      handed = await handBack();
    }
    const { server, input, run, end } = handed;
    expect(end).toBe("late");
    await expect(run).rejects.toThrow("stopping");
    expect(await adoptPrompt(server, newInput({ promptId: input.promptId }))).toHaveLength(1);
    expect(storyOf(server, input.promptId)).toMatchObject({ posted: 1, finished: 1, interrupted: 0 });
  });

  test("F3 A17 a post that arrives long after its run was handed back is taken off: the next one has posted anew", async () => {
    const server = await startServer();
    const arrival = Promise.withResolvers<void>();
    server.inject({ kind: "slow-answer", until: arrival.promise, path: "POST /prompt" });
    server.inject({ kind: "hang" });
    const controller = new AbortController();
    const input = newInput({ signal: controller.signal, staysOnAbort: () => true });
    const run = runPrompt(server, input);
    await vi.waitUntil(() => server.stats().requests["POST /prompt"] === 1, waiting);
    controller.abort(new Error("stopping"));
    await expect(run).rejects.toThrow("stopping");
    expect(storyOf(server, input.promptId)).toBeUndefined();
    arrival.resolve();
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
    expect(await endWithin(run, 3_000)).toEqual([expect.anything()]);
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
    const server = await startServer();
    const { input, run } = await runWithoutEnd(server);
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
    const server = await startServer();
    server.inject({ kind: "hang" });
    server.inject({ kind: "node-errors-with-200" });
    const input = newInput();
    await expect(runPrompt(server, input)).rejects.toMatchObject({ code: "graph_invalid" });
    expect(storyOf(server, input.promptId)).toMatchObject({ posted: 1, interrupted: 1, finished: 0 });
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
