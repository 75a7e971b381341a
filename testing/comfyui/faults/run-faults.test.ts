import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { objectOf } from "../json.ts";
import { ask, historyOf, post, postGraph } from "../recorded/client.ts";
import { listenIn, type Ear } from "../recorded/listen-in.ts";
import { readGraph } from "../server/graph-models.ts";
import { startComfySimulator, type ComfySimulator } from "../start-comfy-simulator.ts";
import type { Fault } from "../faults.ts";

let simulator: ComfySimulator;
let ear: Ear;
let count = 0;

beforeEach(async () => {
  simulator = await startComfySimulator();
  ear = await listenIn(simulator.url, "me");
});

afterEach(async () => {
  ear.close();
  await simulator.close();
});

/** Posts a small job of a few sampler steps; each one has its own seed. */
async function start(): Promise<string> {
  const graph = readGraph("t2i_sd15");
  count += 1;
  Object.assign(graph["5"]?.inputs ?? {}, { width: 64, height: 64 });
  Object.assign(graph["3"]?.inputs ?? {}, { seed: count, steps: 4 });
  const { promptId, heard } = await postGraph(simulator.url, graph, { client_id: "me" });
  expect(heard[0]).toBe(200);
  return promptId;
}

/** The last message of a prompt in the history. */
async function ending(promptId: string): Promise<Record<string, unknown>> {
  const { status } = await historyOf(simulator.url, promptId);
  const { messages } = objectOf(status);
  const [event, data] = Array.isArray(messages) ? messages.at(-1) : [];
  return { event, ...objectOf(data) };
}

function saidOf(promptId: string): unknown[] {
  return ear.heard.map(objectOf).filter(({ data }) => objectOf(data).prompt_id === promptId);
}

const errors: readonly (readonly [Fault, Record<string, unknown>])[] = [
  [
    { kind: "gpu-out-of-memory" },
    {
      exception_type: "torch.OutOfMemoryError",
      exception_message: expect.stringContaining("ran out of memory on your GPU"),
    },
  ],
  [
    { kind: "cpu-out-of-memory" },
    { exception_type: "RuntimeError", exception_message: expect.stringContaining("can't allocate memory") },
  ],
  [{ kind: "node-error", exceptionType: "ValueError" }, { exception_type: "ValueError" }],
  [{ kind: "execution-blocked" }, { exception_type: "ExecutionBlocked" }],
];

describe("faults of a running prompt", () => {
  it.each(errors)("$kind ends one prompt with an error, the next is well", async (fault, wanted) => {
    simulator.inject(fault);
    const failed = await start();
    expect(await ending(failed)).toMatchObject({
      event: "execution_error",
      node_type: "KSampler",
      ...wanted,
    });
    expect(await ending(await start())).toMatchObject({ event: "execution_success" });
    expect(simulator.stats().prompts[failed]).toMatchObject({ started: 1, failed: 1, finished: 0 });
  });

  it("F27: a full card fails every prompt until it is freed, and says so", async () => {
    simulator.inject({ kind: "gpu-out-of-memory", untilFreed: true });
    for (let tries = 0; tries < 3; tries += 1) {
      expect(await ending(await start())).toMatchObject({ exception_type: "torch.OutOfMemoryError" });
    }
    const freeBytes = async () => {
      const [, stats] = await ask(`${simulator.url}/system_stats`);
      const { devices } = objectOf(stats);
      return Number(objectOf(Array.isArray(devices) ? devices[0] : null).vram_free);
    };
    const whenFull = await freeBytes();
    expect(await post(`${simulator.url}/free`, { unload_models: true, free_memory: true })).toEqual([
      200,
      "",
    ]);
    expect(await freeBytes()).toBeGreaterThan(whenFull);
    expect(await ending(await start())).toMatchObject({ event: "execution_success" });
    expect(simulator.stats().frees).toBe(1);
  });

  it("a named class fails instead of the sampler", async () => {
    simulator.inject({ kind: "node-error", nodeClass: "VAEDecode" });
    expect(await ending(await start())).toMatchObject({ node_type: "VAEDecode" });
  });

  it("disk-full fails the saving node until it is cleared", async () => {
    simulator.inject({ kind: "disk-full" });
    const wanted = { exception_type: "OSError", node_type: "SaveImage" };
    expect(await ending(await start())).toMatchObject(wanted);
    expect(await ending(await start())).toMatchObject(wanted);
    simulator.clearFaults();
    expect(await ending(await start())).toMatchObject({ event: "execution_success" });
  });

  it("F26: a silent socket says nothing of the job, which ends in the history", async () => {
    simulator.inject({ kind: "socket-silent" });
    const silent = await start();
    expect(await ending(silent)).toMatchObject({ event: "execution_success" });
    const loud = await start();
    await ear.untilEnd(loud);
    expect(saidOf(silent)).toEqual([]);
  });

  it("F26: a socket that never ends tells of the last node and of no end", async () => {
    simulator.inject({ kind: "socket-no-end" });
    const endless = await start();
    expect(await ending(endless)).toMatchObject({ event: "execution_success" });
    await ear.untilEnd(await start());
    expect(saidOf(endless).at(-1)).toMatchObject({ type: "progress_state" });
    expect(JSON.stringify(saidOf(endless))).not.toContain("execution_success");
  });

  it("F26: a dropped socket is cut in the middle of the sampler, and refused when asked", async () => {
    simulator.inject({ kind: "socket-drop", refuse: true });
    const dropped = await start();
    await new Promise((resolve) => ear.socket.once("close", resolve));
    const steps = saidOf(dropped).filter((message) => objectOf(message).type === "progress");
    expect(steps.map((message) => objectOf(objectOf(message).data).value)).toEqual([1, 2]);
    expect(await ending(dropped)).toMatchObject({ event: "execution_success" });
    await expect(listenIn(simulator.url, "me")).rejects.toThrow("502");
    ear = await listenIn(simulator.url, "other");
  });

  it("history-late shows a finished job only afterwards", async () => {
    simulator.inject({ kind: "history-late", ms: 1500 });
    const late = await start();
    await ear.untilEnd(late);
    const endedAt = Date.now();
    expect(await ask(`${simulator.url}/history/${late}`)).toEqual([200, {}]);
    await historyOf(simulator.url, late);
    expect(Date.now() - endedAt).toBeGreaterThan(1000);
  });

  it("F28: a hanging job stays at 0 % until it is interrupted", async () => {
    simulator.inject({ kind: "hang" });
    const hanging = await start();
    await ear.until(({ type, data }) => type === "executing" && objectOf(data).node === "3");
    const next = await start();
    expect(saidOf(hanging).filter((message) => objectOf(message).type === "progress")).toEqual([]);
    await post(`${simulator.url}/interrupt`, { prompt_id: hanging });
    expect(await ending(hanging)).toMatchObject({ event: "execution_interrupted", node_type: "KSampler" });
    expect(await ending(next)).toMatchObject({ event: "execution_success" });
    expect(simulator.stats().prompts[hanging]).toMatchObject({ interrupted: 1, finished: 0 });
  });

  it("F28: a deaf one is ended by a restart only", async () => {
    simulator.inject({ kind: "hang", deaf: true });
    const deaf = await start();
    await ear.until(({ type, data }) => type === "executing" && objectOf(data).node === "3");
    await post(`${simulator.url}/interrupt`, {});
    const [, queue] = await ask(`${simulator.url}/queue`);
    expect(objectOf(queue).queue_running).toHaveLength(1);
    await simulator.restart();
    expect(await ask(`${simulator.url}/queue`)).toEqual([200, { queue_running: [], queue_pending: [] }]);
    expect(await ask(`${simulator.url}/history/${deaf}`)).toEqual([200, {}]);
    expect(simulator.stats().prompts[deaf]).toMatchObject({ started: 1, lost: 1, finished: 0 });
  });
});
