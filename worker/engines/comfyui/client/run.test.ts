import { describe, expect, test, vi } from "vitest";
import { begun, endServersAfterAll, newInput, startServer, storyOf } from "./fixtures/prompt-scene.ts";
import { adoptPrompt, runPrompt } from "./run.ts";

endServersAfterAll();

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
    await vi.waitUntil(() => storyOf(server, input.promptId)?.posted === 1);
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
  await vi.waitUntil(() => server.stats().requests["POST /prompt"] === 1);
  controller.abort(new Error("cancelled"));
  await expect(run).rejects.toThrow("cancelled");
  await vi.waitFor(() =>
    expect(storyOf(server, input.promptId)).toMatchObject({ interrupted: 1, finished: 0 }),
  );
});

test("F28 F36 a server that hears no interrupt keeps nobody waiting", async () => {
  const server = await startServer();
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

test.concurrent("F20 a prompt that was given up on for the pages of a proxy is taken off as soon as they end", async () => {
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

test.concurrent("F20 a prompt on a server that was cut off is taken off when it can be reached again", async () => {
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

test.concurrent("F36 an abort is over at once, and the time to cancel begins when the post is known to have arrived", async () => {
  const server = await startServer();
  // Longer than a post is waited for, and than a cancel is tried for.
  server.inject({ kind: "slow-answer", ms: 60_000, path: "POST /prompt", isDone: true });
  server.inject({ kind: "slow-answer", ms: 2_000, path: "GET /history" });
  server.inject({ kind: "hang" });
  const controller = new AbortController();
  const input = newInput({ signal: controller.signal });
  const run = runPrompt(server, input);
  await begun(server, input.promptId);
  const askedAt = performance.now();
  controller.abort(new Error("cancelled"));
  await expect(run).rejects.toThrow("cancelled");
  expect(performance.now() - askedAt).toBeLessThan(2_000);
  await vi.waitUntil(() => storyOf(server, input.promptId)?.interrupted === 1, {
    timeout: 50_000,
    interval: 50,
  });
});

test.concurrent("F3 A17 a run that is handed back while it posts stays on its server for the next one", async () => {
  const server = await startServer({ stepMs: 50 });
  server.inject({ kind: "slow-answer", ms: 1_500, path: "POST /prompt" });
  const controller = new AbortController();
  const input = newInput({ signal: controller.signal, staysOnAbort: () => true });
  const run = runPrompt(server, input);
  await vi.waitUntil(() => server.stats().requests["POST /prompt"] === 1);
  controller.abort(new Error("stopping"));
  await expect(run).rejects.toThrow("stopping");
  expect(await adoptPrompt(server, newInput({ promptId: input.promptId }))).toHaveLength(1);
  expect(storyOf(server, input.promptId)).toMatchObject({ posted: 1, finished: 1, interrupted: 0 });
});

test.concurrent("F3 A17 a post that arrives long after its run was handed back is taken off: the next one has posted anew", async () => {
  const server = await startServer();
  server.inject({ kind: "slow-answer", ms: 6_000, path: "POST /prompt" });
  server.inject({ kind: "hang" });
  const controller = new AbortController();
  const input = newInput({ signal: controller.signal, staysOnAbort: () => true });
  const run = runPrompt(server, input);
  await vi.waitUntil(() => server.stats().requests["POST /prompt"] === 1);
  controller.abort(new Error("stopping"));
  await expect(run).rejects.toThrow("stopping");
  expect(storyOf(server, input.promptId)).toBeUndefined();
  await vi.waitFor(
    () => expect(storyOf(server, input.promptId)).toMatchObject({ posted: 1, interrupted: 1, finished: 0 }),
    { timeout: 20_000 },
  );
});
