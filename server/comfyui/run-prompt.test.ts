import { randomUUID } from "node:crypto";
import {
  startComfySimulator,
  readGraph,
  type ComfyOptions,
  type ComfySimulator,
  type Fault,
} from "@atelier/testing/comfyui";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { PromptGraph } from "./comfy-server.ts";
import { cancelPrompt } from "./cancel-prompt.ts";
import { findPrompt } from "./find-prompt.ts";
import { postPrompt } from "./post-prompt.ts";
import { adoptPrompt, runPrompt, type RunPromptInput } from "./run-prompt.ts";

const open: ComfySimulator[] = [];
afterEach(async () => {
  for (const server of open.splice(0)) await server.close();
});

async function start(options: ComfyOptions = {}): Promise<ComfySimulator> {
  const server = await startComfySimulator(options);
  open.push(server);
  return server;
}

const { signal } = new AbortController();

/** A graph whose result no other run has. */
function newGraph(): PromptGraph {
  const graph = structuredClone(readGraph("t2i_sd15"));
  const [, sampler] = Object.entries(graph).find(([, node]) => node.class_type === "KSampler") ?? [];
  if (!sampler) throw new Error("the graph has no sampler");
  sampler.inputs["seed"] = Math.floor(Math.random() * 2 ** 40);
  return graph;
}

function newInput(given: Partial<RunPromptInput> = {}): RunPromptInput {
  const promptId = given.promptId ?? randomUUID();
  const quiet = { onProgress: () => undefined, onPreview: () => undefined };
  return { graph: newGraph(), promptId, clientId: promptId, signal, ...quiet, ...given };
}

const storyOf = (server: ComfySimulator, promptId: string) =>
  server.prompts().find((story) => story.promptId === promptId);

/** Until the simulator has begun the prompt. */
const begun = (server: ComfySimulator, promptId: string) =>
  vi.waitUntil(() => storyOf(server, promptId)?.started === 1, { timeout: 10_000, interval: 5 });

describe.each(["0.8.0", "new"] as const)("with a server of the line %s", (mode) => {
  test("A12 a prompt runs to its files, with progress and previews", async () => {
    const server = await start({ mode, stepMs: 30 });
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

  test("F36 aborting a running prompt interrupts it and no other", async () => {
    const server = await start({ mode, stepMs: 50 });
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
    const server = await start({ mode, stepMs: 50 });
    const first = newInput();
    const running = runPrompt(server, first);
    await begun(server, first.promptId);
    const controller = new AbortController();
    const input = newInput({ signal: controller.signal });
    const run = runPrompt(server, input);
    await vi.waitUntil(() => storyOf(server, input.promptId)?.posted === 1);
    controller.abort(new Error("cancelled"));
    await expect(run).rejects.toThrow("cancelled");
    await expect(running).resolves.toHaveLength(1);
    expect(storyOf(server, input.promptId)).toMatchObject({ deleted: 1, started: 0 });
    expect(storyOf(server, first.promptId)).toMatchObject({ finished: 1, interrupted: 0 });
  });
});

test("F28 a prompt has begun when its server works at it, not while it stands in line behind others", async () => {
  const server = await start();
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
  const server = await start();
  server.inject({ kind: "socket-silent" });
  server.inject({ kind: "hold" });
  const onBegin = vi.fn<() => void>();
  const run = runPrompt(server, newInput({ onBegin }));
  await vi.waitUntil(() => onBegin.mock.calls.length > 0, { timeout: 30_000 });
  server.release();
  await run;
  expect(onBegin).toHaveBeenCalledTimes(1);
});

test("F36 an abort during the post takes back what the server accepted all the same", async () => {
  const server = await start({ stepMs: 50 });
  server.inject({ kind: "slow-answer", ms: 300, path: "POST /prompt" });
  const controller = new AbortController();
  const input = newInput({ signal: controller.signal });
  const run = runPrompt(server, input);
  await vi.waitUntil(() => server.stats().requests["POST /prompt"] === 1);
  controller.abort(new Error("cancelled"));
  await expect(run).rejects.toThrow("cancelled");
  await vi.waitFor(() =>
    expect(storyOf(server, input.promptId)).toMatchObject({ interrupted: 1, finished: 0 }),
  );
});

test("F28 F36 a server that hears no interrupt keeps nobody waiting", async () => {
  const server = await start();
  server.inject({ kind: "hang", deaf: true });
  const controller = new AbortController();
  const input = newInput({ signal: controller.signal });
  const run = runPrompt(server, input);
  await begun(server, input.promptId);
  const startedAt = performance.now();
  controller.abort(new Error("too long"));
  await expect(run).rejects.toThrow("too long");
  expect(performance.now() - startedAt).toBeLessThan(2_000);
  expect(server.stats().interrupts).toBe(1);
});

test.each([
  { kind: "socket-silent" },
  { kind: "socket-drop" },
  { kind: "socket-drop", refuse: true },
  { kind: "socket-no-end" },
  { kind: "socket-refused", times: "forever" },
  { kind: "history-late", ms: 400 },
] satisfies Fault[])("F26 a prompt ends within 3 s of its end on the server despite %o", async (fault) => {
  const server = await start({ stepMs: 20 });
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

test("F25 a server that is killed in mid-job is lost", async () => {
  const server = await start({ stepMs: 200 });
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
  const server = await start({ stepMs: 200 });
  const input = newInput();
  const run = runPrompt(server, input);
  run.catch(() => undefined);
  await begun(server, input.promptId);
  await server.restart(500);
  await expect(run).rejects.toMatchObject({ code: "server_lost", details: { reason: "forgotten" } });
});

test("F20 a cut of the network that ends soon costs nothing", async () => {
  const server = await start({ stepMs: 100 });
  const input = newInput();
  const run = runPrompt(server, input);
  await begun(server, input.promptId);
  await server.disconnect();
  await vi.waitUntil(() => storyOf(server, input.promptId)?.finished === 1, { timeout: 10_000 });
  await server.reconnect();
  await expect(run).resolves.toHaveLength(1);
  expect(storyOf(server, input.promptId)?.posted).toBe(1);
});

test("F20 a server that takes the prompt and then answers nothing any more is lost", async () => {
  const server = await start({ stepMs: 500 });
  server.inject({ kind: "socket-silent" });
  for (const path of ["/history", "/queue"]) server.inject({ kind: "never-answers", path, times: "forever" });
  const run = runPrompt(server, newInput());
  await expect(run).rejects.toMatchObject({ code: "server_lost", details: { reason: "timeout" } });
});

test("F20 answers that take a second each delay a prompt and nothing more", async () => {
  const server = await start();
  server.inject({ kind: "slow-answer", ms: 1_000, times: "forever" });
  const input = newInput();
  await expect(runPrompt(server, input)).resolves.toHaveLength(1);
  expect(storyOf(server, input.promptId)).toMatchObject({ posted: 1, finished: 1 });
});

test.each([
  [{ kind: "gpu-out-of-memory" }, "gpu_out_of_memory"],
  [{ kind: "cpu-out-of-memory" }, "out_of_memory"],
  [{ kind: "execution-blocked" }, "engine_blocked"],
  [{ kind: "node-error" }, "engine_failed"],
  [{ kind: "html", status: 413, path: "POST /prompt" }, "request_too_large"],
  [{ kind: "html", status: 502, path: "POST /prompt" }, "proxy_error"],
] satisfies [Fault, string][])("F27 A12 %o", async (fault, code) => {
  const server = await start();
  server.inject(fault);
  await expect(runPrompt(server, newInput())).rejects.toMatchObject({ code });
});

test("A12 a prompt that somebody else stopped", async () => {
  const server = await start({ stepMs: 50 });
  const input = newInput();
  const run = runPrompt(server, input);
  run.catch(() => undefined);
  await begun(server, input.promptId);
  await cancelPrompt(server, input.promptId, { signal });
  await expect(run).rejects.toMatchObject({ code: "engine_interrupted" });
});

test("A12 models and nodes that the server does not have", async () => {
  const bare = await start({ models: {} });
  await expect(runPrompt(bare, newInput())).rejects.toMatchObject({
    code: "model_missing",
    details: { models: [{ class: "CheckpointLoaderSimple", input: "ckpt_name" }] },
  });
  const old = await start({ missingClasses: ["KSampler"] });
  await expect(runPrompt(old, newInput())).rejects.toMatchObject({
    code: "node_missing",
    details: { classes: ["KSampler"] },
  });
});

test("A12 a prompt that was taken in part does not stay on the server", async () => {
  const server = await start({ stepMs: 100 });
  server.inject({ kind: "node-errors-with-200" });
  const input = newInput();
  await expect(runPrompt(server, input)).rejects.toMatchObject({ code: "graph_invalid" });
  expect(storyOf(server, input.promptId)).toMatchObject({ posted: 1, finished: 0 });
});

test("F3 a post whose answer was lost is found in the queue and not sent again", async () => {
  const server = await start({ stepMs: 20 });
  server.inject({ kind: "lost-answer", path: "POST /prompt" });
  const input = newInput();
  await expect(runPrompt(server, input)).resolves.toHaveLength(1);
  expect(storyOf(server, input.promptId)).toMatchObject({ posted: 1, finished: 1 });
});

test("F3 F4 a prompt that another process posted is adopted, running or done", async () => {
  const server = await start({ stepMs: 50 });
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
  const server = await start({ stepMs: 50 });
  expect(await adoptPrompt(server, newInput())).toBeNull();
  const stopped = newInput();
  await postPrompt(server, stopped, { signal });
  await begun(server, stopped.promptId);
  await cancelPrompt(server, stopped.promptId, { signal });
  await vi.waitFor(async () =>
    expect((await findPrompt(server, stopped.promptId, { signal })).state).toBe("ended"),
  );
  expect(await adoptPrompt(server, newInput({ promptId: stopped.promptId }))).toBeNull();
});

test("F10 a run that is continued elsewhere leaves its prompt on the server", async () => {
  const server = await start({ stepMs: 50 });
  const controller = new AbortController();
  const input = newInput({ signal: controller.signal, staysOnAbort: () => true });
  const run = runPrompt(server, input);
  await begun(server, input.promptId);
  controller.abort(new Error("lost"));
  await expect(run).rejects.toThrow("lost");
  expect(await adoptPrompt(server, newInput({ promptId: input.promptId }))).toHaveLength(1);
  expect(storyOf(server, input.promptId)).toMatchObject({ posted: 1, finished: 1, interrupted: 0 });
});

test("A12 a server behind a path and a password", async () => {
  const server = await start({ basePath: "/comfy/gpu1", auth: "me:secret", stepMs: 10 });
  await expect(runPrompt(server, newInput())).rejects.toMatchObject({ code: "proxy_error" });
  const url = server.url.replace("//", "//me:secret@");
  const seen: string[] = [];
  const onProgress = (_: number, nodeClass: string) => seen.push(nodeClass);
  await expect(runPrompt({ url }, newInput({ onProgress }))).resolves.toHaveLength(1);
  expect(seen).toContain("KSampler");
});
