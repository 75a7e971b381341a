// @module-tag all
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { ComfySimulator } from "@atelier/testing/comfyui";
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
import { cancelPrompt, postPrompt } from "./post.ts";
import { findPrompt } from "./routes.ts";
import { adoptPrompt, runPrompt } from "./prompt.ts";

endServersAfterAll();

/** For a condition that comes soon, though others run at once. */
const waiting = { timeout: 10_000 };

/** What lasts by the clock of the process lasts as long as the test says, however long the machine stands still. */
function stopClock() {
  const cutMs = performance.now();
  const clock = vi.spyOn(performance, "now").mockReturnValue(cutMs);
  onTestFinished(() => clock.mockRestore());
  return { cutMs, clock };
}

// Alone, for the clock of all.
describe("run prompt lost", () => {
  test("F20 a cut of the network that ends soon costs nothing", async () => {
    const server = await startServer();
    server.inject({ kind: "hold" });
    const input = newInput();
    const run = runPrompt(server, input);
    await begun(server, input.promptId);
    const { cutMs, clock } = stopClock();
    const asked = vi.spyOn(globalThis, "fetch");
    onTestFinished(() => asked.mockRestore());
    await server.disconnect();
    server.release();
    await vi.waitUntil(() => storyOf(server, input.promptId)?.finished === 1, waiting);
    // The cut lasts 4 s, at whose end the run asks in vain once more, however slow the machine is.
    clock.mockReturnValue(cutMs + 4_000);
    const before = asked.mock.calls.length;
    await vi.waitUntil(() => asked.mock.calls.length >= before + 3, waiting);
    await server.reconnect();
    await expect(run).resolves.toHaveLength(1);
    expect(storyOf(server, input.promptId)?.posted).toBe(1);
  });

  test("F20 a proxy that counts requests and refuses some loses no prompt", async () => {
    const server = await startServer();
    server.inject({ kind: "hold" });
    const input = newInput();
    const run = runPrompt(server, input);
    await begun(server, input.promptId);
    const asked = () => server.stats().requests["GET /history/{id}"] ?? 0;
    const before = asked();
    server.inject({ kind: "html", status: 429, path: "GET /history", times: 2 });
    await vi.waitUntil(() => asked() > before, waiting);
    const { cutMs, clock } = stopClock();
    // Longer than a server may be away.
    clock.mockReturnValue(cutMs + 20_000);
    await vi.waitUntil(() => asked() > before + 2, { timeout: 30_000 });
    server.release();
    await expect(run).resolves.toHaveLength(1);
    expect(storyOf(server, input.promptId)?.posted).toBe(1);
  });

  test("F25 a server that comes back empty has lost the prompt", async () => {
    const server = await startServer();
    const { run } = await runWithoutEnd(server);
    const { cutMs, clock } = stopClock();
    const before = server.stats().requests["GET /queue"] ?? 0;
    await server.restart(500);
    await vi.waitUntil(() => (server.stats().requests["GET /queue"] ?? 0) > before, waiting);
    // Longer than an answer without the prompt is doubted.
    clock.mockReturnValue(cutMs + 2_000);
    await expect(run).rejects.toMatchObject({ code: "server_lost", details: { reason: "forgotten" } });
  });
});

describe.concurrent("run prompt adopt", () => {
  test("F3 F4 a prompt that another process posted is adopted, running or done", async () => {
    const server = await startServer();
    server.inject({ kind: "hold" });
    const { promptId, clientId, graph } = newInput();
    await postPrompt(server, { promptId, clientId, graph }, { signal });
    await begun(server, promptId);
    const seen: string[] = [];
    const onProgress = (_: number, nodeClass: string) => seen.push(nodeClass);
    const adopted = adoptPrompt(server, newInput({ promptId, graph, onProgress }));
    await vi.waitUntil(() => server.stats().sockets === 1, waiting);
    server.release();
    const files = await adopted;
    expect(files).toHaveLength(1);
    expect(seen).toContain("KSampler");
    expect(await adoptPrompt(server, newInput({ promptId, graph }))).toEqual(files);
    expect(storyOf(server, promptId)).toMatchObject({ posted: 1, finished: 1 });
  });

  test("F3 a prompt that is gone, stopped or failed is not adopted", async () => {
    const server = await startServer();
    server.inject({ kind: "hang" });
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
    const server = await startServer();
    server.inject({ kind: "hold" });
    const controller = new AbortController();
    const input = newInput({ signal: controller.signal, staysOnAbort: () => true });
    const run = runPrompt(server, input);
    await begun(server, input.promptId);
    controller.abort(new Error("lost"));
    await expect(run).rejects.toThrow("lost");
    server.release();
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
    const server = await startServer();
    const { run } = await runWithoutEnd(server);
    await server.kill();
    const end = endWithin(run, 10_000);
    await expect(end).rejects.toMatchObject({ code: "server_lost", details: { reason: "ECONNREFUSED" } });
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
    const server = await startServer();
    server.inject({ kind: "hang" });
    server.inject({ kind: "socket-silent" });
    for (const path of ["/history", "/queue"])
      server.inject({ kind: "never-answers", path, times: "forever" });
    const run = runPrompt(server, newInput());
    await expect(run).rejects.toMatchObject({ code: "server_lost", details: { reason: "timeout" } });
  });
});
