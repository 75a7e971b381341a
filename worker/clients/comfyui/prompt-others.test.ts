import { randomUUID } from "node:crypto";
import { afterEach, describe, expect, test, vi } from "vitest";
import { type ComfyOptions, type ComfySimulator, startComfySimulator } from "@atelier/testing/comfyui";
import type { PromptGraph } from "./http.ts";
import { cancelPrompt } from "./post.ts";
import { runPrompt } from "./prompt.ts";

/** For a condition that comes soon. */
const waiting = { timeout: 10_000 };

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
      await cancelPrompt(server, input.promptId, { signal: new AbortController().signal });
      expect(server.stats().prompts[input.promptId]).toMatchObject({ interrupted: 1, finished: 0 });
      await expect(run).rejects.toMatchObject({ code: "engine_interrupted" });
    },
  );
});
