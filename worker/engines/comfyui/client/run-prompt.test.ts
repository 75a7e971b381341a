import type { Fault } from "@atelier/testing/comfyui";
import { describe, expect, test, vi } from "vitest";
import { cancelPrompt } from "./cancel-prompt.ts";
import {
  begun,
  endServersAfterAll,
  newInput,
  signal,
  startServer,
  storyOf,
} from "./fixtures/prompt-scene.ts";
import { runPrompt } from "./run.ts";

endServersAfterAll();

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
  const onBegin = vi.fn<() => number | undefined>(() => storyOf(server, input.promptId)?.started);
  const input = newInput({ onBegin });
  const run = runPrompt(server, input);
  await vi.waitUntil(() => storyOf(server, input.promptId)?.posted === 1);
  server.release();
  await Promise.all([running, run]);
  expect(onBegin.mock.results.map(({ value }) => value)).toEqual([1]);
});

test("F26 F28 that a prompt has begun is seen without its socket", async () => {
  const server = await startServer();
  server.inject({ kind: "socket-silent" });
  server.inject({ kind: "hold" });
  const onBegin = vi.fn<() => void>();
  const run = runPrompt(server, newInput({ onBegin }));
  await vi.waitUntil(() => onBegin.mock.calls.length > 0, { timeout: 30_000 });
  server.release();
  await run;
  expect(onBegin).toHaveBeenCalledTimes(1);
});

test.each([
  { kind: "socket-silent" },
  { kind: "socket-drop" },
  { kind: "socket-drop", refuse: true },
  { kind: "socket-no-end" },
  { kind: "socket-refused", times: "forever" },
  { kind: "history-late", ms: 400 },
] satisfies Fault[])("F26 a prompt ends within 3 s of its end on the server despite %o", async (fault) => {
  const server = await startServer({ stepMs: 20 });
  server.inject(fault);
  const input = newInput();
  const run = runPrompt(server, input);
  await vi.waitUntil(() => storyOf(server, input.promptId)?.finished === 1, {
    timeout: 20_000,
    interval: 10,
  });
  const finishedAt = performance.now();
  await expect(run).resolves.toHaveLength(1);
  expect(performance.now() - finishedAt).toBeLessThan(3_000);
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
