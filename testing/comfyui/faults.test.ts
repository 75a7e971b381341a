import { once } from "node:events";
import net from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { objectOf } from "./json.ts";
import { ask, historyOf, post, postGraph, upload } from "./recorded/client.ts";
import { listenIn } from "./recorded/listen-in.ts";
import { plainPng, slowGraph } from "./recorded/recording.ts";
import { startComfySimulator, type ComfySimulator } from "./start-comfy-simulator.ts";

let simulator: ComfySimulator;

beforeEach(async () => {
  simulator = await startComfySimulator();
});

afterEach(() => simulator.close());

describe("faults of the HTTP side", () => {
  it.each([502, 413, 504])("html answers %s as nginx does", async (status) => {
    simulator.inject({ kind: "html", status, path: "POST /prompt" });
    expect((await ask(`${simulator.url}/prompt`))[0]).toBe(200);
    const response = await fetch(`${simulator.url}/prompt`, { method: "POST", body: "x".repeat(2_000_000) });
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

  it("never-answers leaves the client waiting", async () => {
    simulator.inject({ kind: "never-answers" });
    const signal = AbortSignal.timeout(200);
    await expect(fetch(`${simulator.url}/queue`, { signal })).rejects.toThrow("timeout");
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

  it("a slow start refuses connections until it is up", async () => {
    const back = simulator.restart(500);
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
