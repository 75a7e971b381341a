import type { ComfySimulator } from "@atelier/testing/comfyui";
import { expect, test, vi } from "vitest";
import { begun, endServersAfterAll, newInput, startServer, storyOf } from "./fixtures/prompt-scene.ts";
import { runPrompt } from "./run.ts";

endServersAfterAll();

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

test("F20 a cut of the network that ends soon costs nothing", async () => {
  const server = await startServer({ stepMs: 100 });
  const input = newInput();
  const run = runPrompt(server, input);
  await begun(server, input.promptId);
  await server.disconnect();
  await vi.waitUntil(() => storyOf(server, input.promptId)?.finished === 1, { timeout: 10_000 });
  await server.reconnect();
  await expect(run).resolves.toHaveLength(1);
  expect(storyOf(server, input.promptId)?.posted).toBe(1);
});

test("F20 answers that take a second each delay a prompt and nothing more", async () => {
  const server = await startServer();
  server.inject({ kind: "slow-answer", ms: 1_000, times: "forever" });
  const input = newInput();
  await expect(runPrompt(server, input)).resolves.toHaveLength(1);
  expect(storyOf(server, input.promptId)).toMatchObject({ posted: 1, finished: 1 });
});

test.concurrent("F20 a server that says nothing for a while, as one that loads a large model, has not lost the prompt", async () => {
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
});

test.concurrent("F20 a server that takes the prompt and then answers nothing any more is lost", async () => {
  const server = await startServer({ stepMs: 500 });
  server.inject({ kind: "socket-silent" });
  for (const path of ["/history", "/queue"]) server.inject({ kind: "never-answers", path, times: "forever" });
  const run = runPrompt(server, newInput());
  await expect(run).rejects.toMatchObject({ code: "server_lost", details: { reason: "timeout" } });
});
