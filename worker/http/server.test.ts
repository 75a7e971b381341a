import { once } from "node:events";
import { connect, createServer } from "node:net";
import { createApiKey } from "@atelier/server/accounts";
import { ask } from "@atelier/server/assistant";
import { schema } from "@atelier/server/db";
import { closeDoors } from "@atelier/server/nodes";
import { forBackendSuites } from "@atelier/testing/cases";
import { startComfySimulator, type ComfySimulator } from "@atelier/testing/comfyui";
import { addJob, addOwner, readJob, until, type TestOwner } from "@atelier/testing/jobs";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { startTestWorker } from "@atelier/testing/worker";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { WebSocket } from "ws";
import { openWorkerHttp } from "./server.ts";
import { maxBodyBytes } from "./handlers.ts";

const token = "a-token-of-the-worker";
const waiting = { interval: 50 };

interface Asked {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A worker that listens, and how to ask it. */
async function startWorker(opened: TestServices, servers: readonly ComfySimulator[]) {
  const worker = await startTestWorker(opened.services, {
    config: "servers",
    name: "direct",
    env: {
      HOST: "127.0.0.1",
      WORKER_HTTP_PORT: "0",
      WORKER_HTTP_TOKEN: token,
      COMFYUI_URLS: servers.map(({ url }) => url).join(","),
    },
  });
  const [, port] = await worker.waitFor(/"port":(\d+)\}.*worker http listens/);
  const ask = (path: string, { body, headers }: Asked = {}) =>
    fetch(`http://127.0.0.1:${port}${path}`, {
      method: body === undefined ? "GET" : "POST",
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
  const read = async (path: string, asked?: Asked) => {
    const answer = await ask(path, asked);
    return { status: answer.status, json: (await answer.json()) as Record<string, unknown> };
  };
  return { worker, port: Number(port), ask, read };
}

type Started = Awaited<ReturnType<typeof startWorker>>;

forBackendSuites("on %s", (backend) => {
  let opened: TestServices;
  let comfy: ComfySimulator;
  let direct: Started;
  let owner: TestOwner;

  beforeAll(async () => {
    opened = await createTestServices({ backend });
    owner = await addOwner(opened.services);
    comfy = await startComfySimulator();
    direct = await startWorker(opened, [comfy]);
    await vi.waitUntil(async () => JSON.stringify(await direct.read("/health")).includes("healthy"), waiting);
    // The line must know of the workflows before it accepts a job for them.
    await vi.waitUntil(async () => {
      const rows = await opened.services.db.select().from(schema.nodeQueues);
      return rows.some(({ needs }) => needs.includes("comfyui/t2i_sd15"));
    }, waiting);
  });
  afterAll(async () => {
    await direct?.worker.kill9();
    await comfy?.close();
    await opened.close();
  });

  afterEach(() => {
    comfy.clearFaults();
    comfy.release();
  });

  const submit = async (body: object, headers = {}) => {
    const { status, json } = await direct.read("/CreateImageFromPrompt", { body, headers });
    expect({ status, json }).toMatchObject({ status: 202, json: { status: "accepted" } });
    return String(json["job_id"]);
  };
  const untilEnded = async (id: string) => {
    await until(opened.services, id, "completed", "failed", "cancelled");
    return (await direct.read(`/status/${id}`)).json;
  };

  test("A14 a prompt is accepted at once, waits for its slot, and its picture can be fetched", async () => {
    comfy.inject({ kind: "hold" });
    const id = await submit({ prompt: "a cup", workflow: "t2i_sd15", width: 320, height: 256, seed: 7 });
    await vi.waitUntil(() => comfy.prompts().some(({ started }) => started > 0), waiting);
    const second = await submit({ prompt: "a pot", workflow: "t2i_sd15", width: 256, height: 256 });
    expect((await direct.read(`/status/${second}`)).json["status"]).toMatch(/pending|queued/);
    expect((await direct.read(`/result/${id}`)).json).toMatchObject({ status: 409, code: "conflict" });
    comfy.clearFaults();
    comfy.release();
    expect(await untilEnded(id)).toMatchObject({
      job_id: id,
      status: "completed",
      progress: 1,
      error: null,
      outputs: [{ widthPx: 320, heightPx: 256, url: `/result/${id}` }],
      params: { seed: 7 },
      node: "direct",
      server: new URL(comfy.url).host,
    });
    const picture = await direct.ask(`/result/${id}`);
    expect(picture.headers.get("content-type")).toBe("image/png");
    expect(
      Buffer.from(await picture.arrayBuffer())
        .subarray(1, 4)
        .toString(),
    ).toBe("PNG");
    expect((await direct.ask(`/result/${id}?position=1`)).status).toBe(404);
    expect(await untilEnded(second)).toMatchObject({ status: "completed" });
  });

  test("A14 a repeated request with the same Idempotency-Key makes no second job", async () => {
    const body = { prompt: "a key", workflow: "t2i_sd15", width: 256, height: 256 };
    const key = { "idempotency-key": "one" };
    const id = await submit(body, key);
    expect(await submit(body, key)).toBe(id);
    await untilEnded(id);
  });

  test("A13 A14 a failure is final: nothing is tried again", async () => {
    comfy.inject({ kind: "node-error" });
    const id = await submit({ prompt: "a crack", workflow: "t2i_sd15", width: 256, height: 256 });
    const { error, ...job } = await untilEnded(id);
    expect(job).toMatchObject({ status: "failed", outputs: [] });
    expect(error).toMatchObject({ code: expect.any(String), message: expect.stringMatching(/\.$/) });
    expect(await readJob(opened.services, id)).toMatchObject({ attempt: 1, once: true });
    expect((await direct.read(`/result/${id}`)).json).toMatchObject({ code: "conflict" });
  });

  test("A14 S1 every path needs the token", async () => {
    const wrong = ["", "Bearer", `Bearer ${token}x`, `Bearer ${token.slice(1)}`, `Basic ${token}`];
    const paths = ["/health", "/status/x", "/result/x", "/nothing"];
    for (const path of paths)
      for (const authorization of wrong) {
        const { status, json } = await direct.read(path, { headers: { authorization } });
        expect([path, status, json["code"]]).toEqual([path, 401, "unauthorized"]);
      }
    const post = await direct.read("/CreateImageFromPrompt", {
      body: { prompt: "x" },
      headers: { authorization: "" },
    });
    expect(post.status).toBe(401);
  });

  test("A14 S1 of others' jobs the progress alone is told, and no picture", async () => {
    const id = await addJob(opened.services, { owner });
    await until(opened.services, id, "completed");
    const { status, json } = await direct.read(`/status/${id}`);
    expect({ status, json }).toMatchObject({
      status: 200,
      json: { job_id: id, status: "completed", progress: 1, error: null, node: "direct" },
    });
    for (const member of ["params", "outputs", "inputs", "metadata", "workflow"])
      expect(json).not.toHaveProperty(member);
    for (const path of [
      `/result/${id}`,
      "/status/x",
      "/status/0190d1c0-0000-7000-8000-000000000000",
      "/nothing",
      "/CreateImageFromPrompt",
    ])
      expect((await direct.read(path)).json).toMatchObject({ status: 404, code: "not_found" });
  });

  test("A14 C6 a request's id is in the answer, in problems and with the job", async () => {
    const headers = { "x-request-id": "client-1" };
    const refused = await direct.ask("/status/x", { headers });
    expect(refused.headers.get("x-request-id")).toBe("client-1");
    expect(await refused.json()).toMatchObject({ code: "not_found", requestId: "client-1" });
    const id = await submit({ prompt: "a cup", workflow: "t2i_sd15", width: 256, height: 256 }, headers);
    expect(await readJob(opened.services, id)).toMatchObject({ requestId: "client-1" });
    await untilEnded(id);
  });

  test("A14 wrong bodies are refused with their fields, large ones without reading on", async () => {
    const post = (body: unknown, headers = {}) => direct.read("/CreateImageFromPrompt", { body, headers });
    expect((await post({ width: 3, colour: "red" })).json).toMatchObject({
      status: 400,
      code: "bad_request",
      errors: expect.arrayContaining([expect.objectContaining({ path: "prompt" })]),
    });
    expect((await post("{")).json).toMatchObject({ status: 400, detail: "The body is not valid JSON." });
    expect((await post("{}", { "content-type": "text/plain" })).status).toBe(400);
    expect((await post({ prompt: "x".repeat(maxBodyBytes) })).json).toMatchObject({
      status: 413,
      code: "request_too_large",
    });
    expect((await post({ prompt: "x", workflow: "nowhere" })).json).toMatchObject({
      status: 422,
      code: "workflow_unknown",
    });
  });

  test("A14 health tells of the node, its slots and servers, and is 503 once it is drained", async () => {
    const health = {
      status: "ok",
      node: { name: "direct" },
      state: "active",
      database: { ok: true },
      queue: { ok: true },
      queues: expect.arrayContaining([{ queue: "gpu-high", slots: 1, running: 0 }]),
      servers: [{ server: new URL(comfy.url).host, engine: "comfyui", state: "healthy" }],
    };
    // The run of a job that has ended is tidied up behind it.
    const json = await vi.waitFor(async () => {
      const answer = await direct.read("/health");
      expect(answer).toMatchObject({ status: 200, json: health });
      return answer.json;
    }, waiting);
    const { id } = json["node"] as { id: string };
    await closeDoors(opened.services, id);
    expect(await direct.read("/health")).toMatchObject({ status: 503, json: { state: "draining" } });
    await opened.services.db.update(schema.nodes).set({ state: "active" });
    expect((await direct.read("/health")).status).toBe(200);
  });

  test("B7 S1 the answers of a user are pushed to its API key, not to the worker's token", async () => {
    const { key } = await createApiKey(opened.services, { userId: owner.userId, name: "push" });
    const open = (bearer: string, path = "/api/ws") =>
      new Promise<string>((resolve) => {
        const headers = { authorization: `Bearer ${bearer}` };
        const socket = new WebSocket(`ws://127.0.0.1:${direct.port}${path}`, { headers });
        socket.once("error", (error) => resolve(error.message));
        socket.once("message", (data: Buffer) => {
          socket.terminate();
          resolve(data.toString());
        });
      });
    expect(await open(token)).toContain("401");
    expect(await open(key, "/elsewhere")).toContain("404");
    const { runId } = await ask(opened.services, { ownerId: owner.userId, text: "What is this?" });
    expect(JSON.parse(await open(key))).toMatchObject({
      request_id: runId,
      status: expect.stringMatching(/completed|failed/),
    });
  });

  test("A14 A17 on SIGTERM it takes nothing more, ends in order and leaves no half-open client waiting", async () => {
    const idle = connect(direct.port, "127.0.0.1");
    const gone = new Promise((resolve) => idle.once("close", resolve));
    await new Promise((resolve) => idle.once("connect", resolve));
    expect(await direct.worker.term()).toBe(0);
    await gone;
    await expect(direct.ask("/health")).rejects.toThrow("fetch failed");
    expect(direct.worker.output()).toContain("left in order");
  });
});

test("A14 a port that is taken is refused with a reason; without a port nothing listens", async () => {
  const opened = await createTestServices();
  const { services } = opened;
  const open = (port: number) =>
    openWorkerHttp({
      ...services,
      env: { ...services.env, WORKER_HTTP_PORT: port, WORKER_HTTP_TOKEN: token },
    });
  const blocker = createServer().listen(0, "127.0.0.1");
  try {
    await once(blocker, "listening");
    const port = Object(blocker.address()).port;
    await expect(open(port)).rejects.toThrow(`WORKER_HTTP_PORT: 127.0.0.1:${port} is not available.`);
    expect(await openWorkerHttp(services)).toBeNull();
  } finally {
    blocker.close();
    await opened.close();
  }
});
