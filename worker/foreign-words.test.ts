import { randomUUID } from "node:crypto";
import { runPrompt } from "./clients/comfyui/index.ts";
import { schema } from "@atelier/server/db";
import { claim } from "@atelier/server/jobs";
import { addJob, addNode, addOwner, localOffers, readJob, testQueue } from "@atelier/testing/jobs";
import { serveAnswers } from "@atelier/testing/http";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { Engine } from "./engines/index.ts";
import { followNode } from "./node.ts";
import { runJob } from "./run-job.ts";
import { createSharedServers } from "./shared-servers.ts";
import { createServerPool, createSources } from "./servers/index.ts";

let opened: TestServices;
beforeAll(async () => {
  opened = await createTestServices();
});
afterAll(() => opened.close());

test("A10 D4 a server that names its card and memory oddly has a row all the same", async () => {
  const { services } = opened;
  await addNode(services);
  const [node] = await services.db.select().from(schema.nodes);
  const server = await serveAnswers(({ path }) => ({
    body: JSON.stringify(
      path === "/prompt"
        ? { exec_info: { queue_remaining: 2 ** 40 } }
        : {
            system: { comfyui_version: "0.8\0.0" },
            devices: [{ name: "card \ud83d", type: "cuda", vram_total: 8e9 + 0.5, vram_free: -1 }],
          },
    ),
  }));
  const pool = createServerPool({
    sources: createSources({ COMFYUI_URLS: [server.url], COMFYUI_DISCOVERY: [], IOPAINT_URLS: [] }).sources,
    workflows: () => [],
    config: services.config,
    log: services.log,
  });
  await pool.start();
  const capability = { cores: 1, memoryBytes: 1, gpus: [], engines: [], kinds: [] };
  const loop = followNode(services, {
    pool,
    offer: { current: () => ({ capability, queues: [], localSlots: 0 }), onChange: () => () => undefined },
    incarnation: { current: () => node ?? null },
    consumers: { follow: () => undefined, claimNow: () => undefined },
  });
  try {
    const { engineServers } = schema;
    const rows = await vi.waitUntil(
      async () => {
        const found = await services.db.select().from(engineServers);
        return found.length > 0 && found;
      },
      { timeout: 20_000 },
    );
    expect(rows).toMatchObject([
      {
        state: "healthy",
        version: "0.8 .0",
        deviceName: "card \ufffd",
        vramTotalBytes: 8_000_000_001,
        vramFreeBytes: 0,
        queueLength: 2 ** 31 - 1,
      },
    ]);
  } finally {
    await loop.stop();
    await pool.stop();
    await server.close();
  }
});

test("A12 a server's words in an error are stored: the run ends", async () => {
  const { services } = opened;
  const nodeId = await addNode(services);
  const id = await addJob(services, { owner: await addOwner(services), once: true });
  const job = await claim(services, { nodeId, queue: testQueue, offers: localOffers });
  if (!job) throw new Error("the job was not claimed");
  const refusal = {
    error: { type: "prompt_outputs_failed\0", message: "no" },
    node_errors: { "4\0": { class_type: "Load\ud800", errors: [{ type: "bad\0", details: "" }] } },
  };
  const server = await serveAnswers(() => ({ status: 400, body: JSON.stringify(refusal) }));
  const engine: Engine = {
    name: "local",
    kinds: ["upscale"],
    run: (_task, { signal }) => {
      const promptId = randomUUID();
      const graph = { "4": { class_type: "Load", inputs: {} } };
      const quiet = { onProgress: () => undefined, onPreview: () => undefined };
      return runPrompt(server, { graph, promptId, clientId: promptId, signal, ...quiet }).then(() => []);
    },
    close: () => Promise.resolve(),
  };
  const lease = { jobId: id, attempt: job.attempt, nodeId };
  await runJob(services, {
    job,
    lease,
    engine,
    otherServers: [],
    sharedServers: createSharedServers(services),
    signal: new AbortController().signal,
    onBegin: () => undefined,
  });
  await server.close();
  expect(await readJob(services, id)).toMatchObject({
    status: "failed",
    errorCode: "graph_invalid",
    errorDetails: { errors: [{ node: "4 ", class: "Load\ufffd", type: "bad ", input: "" }] },
  });
});
