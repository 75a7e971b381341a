import { once } from "node:events";
import net from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Fault } from "./faults.ts";
import { objectOf } from "./options.ts";
import { ask, type Ear, historyOf, listenIn, post, postGraph, upload } from "./recorded/client.ts";
import { plainPng, slowGraph } from "./recorded/recording.ts";
import { readGraph } from "./server/stats.ts";
import { type ComfySimulator, startComfySimulator } from "./start-comfy-simulator.ts";

let simulator: ComfySimulator;

describe("run faults", () => {
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
      const closed = new Promise((resolve) => ear.socket.once("close", resolve));
      const dropped = await start();
      await closed;
      const steps = saidOf(dropped).filter((message) => objectOf(message).type === "progress");
      expect(steps.map((message) => objectOf(objectOf(message).data).value)).toEqual([1, 2]);
      expect(await ending(dropped)).toMatchObject({ event: "execution_success" });
      await expect(listenIn(simulator.url, "me")).rejects.toThrow("502");
      ear = await listenIn(simulator.url, "other");
    });

    it("history-late shows a finished job only afterwards", async () => {
      simulator.inject({ kind: "history-late", ms: 1_500 });
      // Not measured but raced: the timers of a process fire in their order, however long the machine stands still.
      const before = sleep(1_000, "not yet");
      const late = await start();
      await ear.untilEnd(late);
      expect(await Promise.race([historyOf(simulator.url, late), before])).toBe("not yet");
      expect(await historyOf(simulator.url, late)).toMatchObject({ outputs: expect.anything() });
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
});

describe("faults", () => {
  beforeEach(async () => {
    simulator = await startComfySimulator();
  });

  afterEach(() => simulator.close());

  describe("faults of the HTTP side", () => {
    it.each([502, 413, 504])("html answers %s as nginx does", async (status) => {
      simulator.inject({ kind: "html", status, path: "POST /prompt" });
      expect((await ask(`${simulator.url}/prompt`))[0]).toBe(200);
      const response = await fetch(`${simulator.url}/prompt`, {
        method: "POST",
        body: "x".repeat(2_000_000),
      });
      expect([response.status, response.headers.get("content-type")]).toEqual([status, "text/html"]);
      expect(await response.text()).toContain("<center>nginx/");
      expect(simulator.stats().prompts).toEqual({});
    });

    it("node-errors-with-200 answers 200 with errors and runs all the same", async () => {
      simulator.inject({ kind: "node-errors-with-200" });
      const { promptId, heard } = await postGraph(simulator.url, slowGraph(1));
      expect(heard[0]).toBe(200);
      expect(objectOf(objectOf(heard[1]).node_errors)["20"]).toMatchObject({ class_type: "PreviewImage" });
      await historyOf(simulator.url, promptId);
    });

    it("a graph with one bad output of two answers 200 with its errors, and runs the good one", async () => {
      const bad = { class_type: "PreviewImage", inputs: {} };
      const { promptId, heard } = await postGraph(simulator.url, { ...slowGraph(1), "21": bad });
      expect(heard[0]).toBe(200);
      expect(Object.keys(objectOf(objectOf(heard[1]).node_errors))).toEqual(["21"]);
      const { outputs } = await historyOf(simulator.url, promptId);
      expect(Object.keys(objectOf(outputs))).toEqual(["20"]);
    });

    it("disk-full fails uploads with 500", async () => {
      simulator.inject({ kind: "disk-full" });
      const picture = { name: "a.png", bytes: await plainPng("teal") };
      expect((await upload(simulator.url, picture))[0]).toBe(500);
      simulator.clearFaults();
      expect((await upload(simulator.url, picture))[0]).toBe(200);
      expect(simulator.stats().uploads).toBe(1);
    });

    it("F3: lost-answer runs the prompt and breaks the connection", async () => {
      simulator.inject({ kind: "lost-answer", path: "POST /prompt" });
      await expect(postGraph(simulator.url, slowGraph(1))).rejects.toThrow("fetch failed");
      await expect.poll(() => simulator.prompts().map(({ finished }) => finished)).toEqual([1]);
    });

    it("garbage answers 200 with something else", async () => {
      simulator.inject({ kind: "garbage", path: "/system_stats" });
      const [status, body] = await ask(`${simulator.url}/system_stats`);
      expect([status, typeof body]).toEqual([200, "string"]);
    });

    it("odd-numbers writes what is no JSON", async () => {
      await postGraph(simulator.url, slowGraph(1));
      simulator.inject({ kind: "odd-numbers", path: "/history" });
      await expect.poll(() => simulator.prompts().map(({ finished }) => finished)).toEqual([1]);
      const answer = await fetch(`${simulator.url}/history`);
      expect(await answer.text()).toContain('"is_changed": [NaN, -Infinity], "class_type":');
    });

    it("never-answers leaves the client waiting", async () => {
      simulator.inject({ kind: "never-answers" });
      const leaving = new AbortController();
      const asking = fetch(`${simulator.url}/queue`, { signal: leaving.signal });
      await expect.poll(() => simulator.stats().requests["GET /queue"]).toBe(1);
      leaving.abort();
      await expect(asking).rejects.toThrow("aborted");
      expect((await ask(`${simulator.url}/queue`))[0]).toBe(200);
    });

    it("socket-refused answers the upgrade with 502", async () => {
      simulator.inject({ kind: "socket-refused" });
      await expect(listenIn(simulator.url, "me")).rejects.toThrow("502");
      (await listenIn(simulator.url, "me")).close();
    });

    it("a client that resets its refused connection does not end the simulator", async () => {
      simulator.inject({ kind: "socket-refused", times: "forever" });
      const { hostname, port } = new URL(simulator.url);
      for (let count = 0; count < 20; count += 1) {
        const socket = net.connect({ host: hostname, port: Number(port) });
        await once(socket, "connect");
        socket.write("GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
        await once(socket, "readable");
        socket.write("more");
        socket.resetAndDestroy();
      }
      expect((await ask(`${simulator.url}/queue`))[0]).toBe(200);
    });

    it("faults are driven over HTTP, and the driver is never struck", async () => {
      const fault = { kind: "html", status: 502, times: "forever" };
      expect(await post(`${simulator.url}/sim/fault`, fault)).toEqual([200, ""]);
      expect((await ask(`${simulator.url}/queue`))[0]).toBe(502);
      expect(await ask(`${simulator.url}/sim/fault`)).toEqual([200, [fault]]);
      expect((await post(`${simulator.url}/sim/fault`, { kind: "no such" }))[0]).toBe(400);
      await ask(`${simulator.url}/sim/fault`, { method: "DELETE" });
      expect((await ask(`${simulator.url}/queue`))[0]).toBe(200);
      await post(`${simulator.url}/sim/models`, { loras: ["a.safetensors"] });
      expect(await ask(`${simulator.url}/sim/prompts`)).toEqual([200, []]);
      const [, stats] = await ask(`${simulator.url}/sim/stats`);
      expect(objectOf(stats).requests).toEqual({ "GET /queue": 2 });
      expect(await ask(`${simulator.url}/models/loras`)).toEqual([200, ["a.safetensors"]]);
    });
  });

  describe("a server that goes and comes", () => {
    it("F25: a killed one refuses connections, comes back empty and keeps its files", async () => {
      await upload(simulator.url, { name: "a.png", bytes: await plainPng("teal") });
      const { promptId } = await postGraph(simulator.url, slowGraph(1));
      await historyOf(simulator.url, promptId);
      await simulator.kill();
      await expect(ask(`${simulator.url}/queue`)).rejects.toThrow("fetch failed");
      await simulator.start();
      expect(await ask(`${simulator.url}/history`)).toEqual([200, {}]);
      expect((await ask(`${simulator.url}/view?filename=a.png&type=input`))[0]).toBe(200);
      expect(simulator.stats()).toMatchObject({ uploads: 1, restarts: 1 });
    });

    it("F25: waiting and running prompts are lost with it", async () => {
      simulator.inject({ kind: "hold" });
      const one = await postGraph(simulator.url, slowGraph(1));
      await expect.poll(() => simulator.stats().prompts[one.promptId]?.started).toBe(1);
      const two = await postGraph(simulator.url, slowGraph(2));
      await simulator.restart();
      const { prompts } = simulator.stats();
      expect(prompts[one.promptId]).toMatchObject({ started: 1, lost: 1, finished: 0 });
      expect(prompts[two.promptId]).toMatchObject({ started: 0, lost: 1 });
      const { promptId } = await postGraph(simulator.url, slowGraph(2));
      await historyOf(simulator.url, promptId);
    });

    it("a prompt that is released before the node that is to be held goes on", async () => {
      simulator.inject({ kind: "hold", nodeClass: "PreviewImage" });
      const { promptId } = await postGraph(simulator.url, slowGraph(1));
      await expect.poll(() => simulator.stats().prompts[promptId]?.started, { interval: 1 }).toBe(1);
      simulator.release();
      await historyOf(simulator.url, promptId);
    });

    it("a slow start refuses connections until it is up", async () => {
      const back = simulator.restart(3_000);
      await expect(ask(`${simulator.url}/queue`)).rejects.toThrow("fetch failed");
      await back;
      expect((await ask(`${simulator.url}/queue`))[0]).toBe(200);
    });

    it("a cut network breaks the socket, and the job goes on", async () => {
      simulator.inject({ kind: "hold" });
      const ear = await listenIn(simulator.url, "me");
      const { promptId } = await postGraph(simulator.url, slowGraph(1), { client_id: "me" });
      await ear.until(({ type }) => type === "executing");
      const closed = new Promise((resolve) => ear.socket.once("close", resolve));
      await simulator.disconnect();
      await closed;
      await expect(ask(`${simulator.url}/queue`)).rejects.toThrow("fetch failed");
      simulator.release();
      await expect.poll(() => simulator.stats().prompts[promptId]?.finished).toBe(1);
      await simulator.reconnect();
      await historyOf(simulator.url, promptId);
    });
  });
});
