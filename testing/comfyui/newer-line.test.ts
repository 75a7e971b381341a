import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { objectOf } from "./options.ts";
import { ask, historyOf, listenIn, post, postGraph } from "./recorded/client.ts";
import { slowGraph } from "./recorded/recording.ts";
import { readGraph } from "./server/stats.ts";
import { type ComfySimulator, startComfySimulator } from "./start-comfy-simulator.ts";

let simulator: ComfySimulator;

beforeAll(async () => {
  simulator = await startComfySimulator({
    mode: "new",
    previews: "auto",
    basePath: "/comfy/gpu1",
    auth: "me:pw",
  });
});

afterAll(() => simulator.close());

const headers = { authorization: `Basic ${Buffer.from("me:pw").toString("base64")}` };

function call(path: string, body?: unknown) {
  const url = simulator.url + path;
  if (body === undefined) return ask(url, { headers });
  return ask(url, { method: "POST", body: JSON.stringify(body), headers });
}

describe("the newer line, behind a proxy", () => {
  it("lives below its path and wants its password", async () => {
    expect((await call("/queue"))[0]).toBe(200);
    expect((await ask(`${simulator.url}/queue`))[0]).toBe(401);
    expect((await ask(`http://127.0.0.1:${simulator.port}/queue`))[0]).toBe(404);
  });

  it("wants ids that are lower-case UUIDs", async () => {
    const [status, body] = await call("/prompt", { prompt: slowGraph(1), prompt_id: "no uuid" });
    expect([status, objectOf(objectOf(body).error).type]).toEqual([400, "invalid_prompt_id"]);
  });

  it("names a missing class", async () => {
    const [status, body] = await call("/prompt", { prompt: { "3": { class_type: "Nope", inputs: {} } } });
    expect(status).toBe(400);
    expect(body).toMatchObject({
      error: { type: "missing_node_type", extra_info: { node_id: "3", class_type: "Nope" } },
    });
  });

  it("cancels a running and a waiting job, and says whether it did", async () => {
    simulator.inject({ kind: "hold" });
    const [one, two] = [randomUUID(), randomUUID()];
    await call("/prompt", { prompt: slowGraph(1), prompt_id: one });
    await expect.poll(() => simulator.stats().prompts[one]?.started).toBe(1);
    await call("/prompt", { prompt: slowGraph(2), prompt_id: two });
    const cancelled = [
      await call(`/api/jobs/${two}/cancel`, {}),
      await call(`/api/jobs/${one}/cancel`, {}),
      await call(`/api/jobs/${two}/cancel`, {}),
    ];
    expect(cancelled.map(([, body]) => objectOf(body).cancelled)).toEqual([true, true, false]);
    simulator.release();
    await expect.poll(async () => objectOf((await call(`/api/jobs/${one}`))[1]).status).toBe("cancelled");
    expect(simulator.stats().prompts[two]).toMatchObject({ started: 0, deleted: 1 });
    expect((await call("/api/jobs/cancel", { job_ids: ["x"] }))[0]).toBe(400);
  });
});

describe("previews", () => {
  it.each([
    ["event 1 to a plain client", false, 1],
    ["event 4 to one that asked for metadata", true, 4],
  ] as const)("a JPEG per step as %s", async (_, wantsMetadata, event) => {
    const open = await startComfySimulator({ previews: "auto" });
    const ear = await listenIn(open.url, "me", wantsMetadata);
    const { promptId } = await postGraph(open.url, readGraph("t2i_sd15"), { client_id: "me" });
    await ear.untilEnd(promptId);
    const frames = ear.heard.map(objectOf).filter((message) => "binary_event" in message);
    expect(frames).toHaveLength(20);
    expect(frames[0]).toMatchObject({ binary_event: event, magic: expect.stringMatching(/^ffd8ff/) });
    const meta = { prompt_id: promptId, node_id: "3", image_type: "image/jpeg" };
    expect(frames[0]?.meta ?? meta).toMatchObject(meta);
    ear.close();
    await open.close();
  });

  it("are off by default, and on for a job that asks", async () => {
    const open = await startComfySimulator();
    const ear = await listenIn(open.url, "me");
    const quiet = await postGraph(open.url, readGraph("t2i_sd15"), { client_id: "me" });
    await ear.untilEnd(quiet.promptId);
    expect(ear.take().some((message) => "binary_event" in objectOf(message))).toBe(false);
    const graph = readGraph("t2i_sd15");
    Object.assign(graph["3"]?.inputs ?? {}, { seed: 2 });
    const asked = { client_id: "me", extra_data: { preview_method: "latent2rgb" } };
    const loud = await postGraph(open.url, graph, asked);
    await ear.untilEnd(loud.promptId);
    expect(ear.take().some((message) => "binary_event" in objectOf(message))).toBe(true);
    await historyOf(open.url, loud.promptId);
    await post(`${open.url}/history`, { clear: true });
    ear.close();
    await open.close();
  });
});
