import { randomBytes } from "node:crypto";
import path from "node:path";
import { inAll } from "@atelier/testing/cases";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { UriTemplate } from "@modelcontextprotocol/sdk/shared/uriTemplate.js";
import { CallToolResultSchema, CreateTaskResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { addNode } from "@atelier/testing/jobs";
import { sql } from "drizzle-orm";
import sharp from "sharp";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { createApiKey } from "../../accounts/index.ts";
import { schema } from "../../db/index.ts";
import { type ClientStudio, drawPhoto, openClientStudio } from "../clients/fixtures/studio.ts";

const painter = {
  id: "painter",
  title: "The painter",
  kind: "text_to_image",
  inputs: { required: [], optional: [] },
  params: ["prompt"],
  offers: [{ provider: "fal", endpoint: "e", input: { prompt: "$prompt" }, priceUsd: 0.04 }],
};

let studio: ClientStudio;
beforeAll(async () => {
  studio = await openClientStudio({ cloud: { models: [painter] } });
}, 180_000);
afterAll(() => studio.close());
beforeEach(() => studio.comfy.clearFaults());

const overHttp = (key = studio.owner.key) =>
  new StreamableHTTPClientTransport(new URL(`${studio.url}/mcp`), {
    requestInit: { headers: { authorization: `Bearer ${key}` } },
  });
const overStdio = () =>
  new StdioClientTransport({
    command: process.execPath,
    args: [path.join(import.meta.dirname, "../../../cli/main.ts"), "mcp", "--url", studio.url],
    env: { ATELIER_API_KEY: studio.owner.key, PATH: "" },
  });

async function open(transport: Parameters<Client["connect"]>[0]): Promise<Client> {
  const client = new Client({ name: "test", version: "1.0.0" });
  await client.connect(transport);
  onTestFinished(() => client.close());
  return client;
}

interface Result {
  readonly isError?: boolean;
  readonly content: readonly { type: string; text?: string; data?: string; mimeType?: string }[];
}

type Reported = { progress: number; total?: number | undefined };

async function call(client: Client, name: string, args: object, reported: Reported[] = []) {
  const options = { onprogress: (step: Reported) => void reported.push(step), timeout: 60_000 };
  // Safe cast: the tools answer with texts and pictures alone.
  const result = (await client.callTool(
    { name, arguments: { ...args } },
    undefined,
    options,
  )) as unknown as Result;
  const [text] = result.content;
  return { ...result, facts: JSON.parse(text?.text ?? "null"), pictures: result.content.slice(1) };
}

const long = { prompt: "a house", model: "atelier/t2i_sdxl", waitSeconds: 60 };

describe.each([
  ["over HTTP", () => overHttp()],
  ["on stdin and stdout", overStdio],
])("the SDK's own client %s", (_name, transport) => {
  test("makes a picture, is told of the progress, sees it and finds it again", async () => {
    const client = await open(transport());
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["generate_image", "edit_image", "change_outfit", "show_picture", "estimate"]),
    );
    const reported: Reported[] = [];
    const asked = { prompt: "a lighthouse", model: "atelier/t2i_sdxl", waitSeconds: 60 };
    const made = await call(client, "generate_image", asked, reported);
    expect(made.isError).toBeUndefined();
    const [job] = made.facts.jobs;
    expect(job).toMatchObject({ status: "completed", madeBy: "t2i_sdxl" });
    expect(reported.at(-1)).toMatchObject({ progress: 1, total: 1 });
    expect(reported.length).toBeGreaterThan(1);
    const preview = await sharp(Buffer.from(made.pictures[0]?.data ?? "", "base64")).metadata();
    expect([made.pictures[0]?.mimeType, preview.format]).toEqual(["image/webp", "webp"]);
    const found = await call(client, "search_gallery", { query: "lighthouse" });
    const { pictureId } = job.pictures[0];
    expect(found.facts.pictures.map((one: { pictureId: string }) => one.pictureId)).toContain(pictureId);
    const shown = await call(client, "show_picture", { pictureId, size: "thumbnail" });
    const small = await sharp(Buffer.from(shown.pictures[0]?.data ?? "", "base64")).metadata();
    expect(Math.max(small.width, small.height)).toBeLessThanOrEqual(320);
  });

  test("has the pictures as resources, the prompts, and a call as a task", inAll, async () => {
    const client = await open(transport());
    // Above the 10 MiB that a line of standard input has by default in this protocol.
    const raw = { width: 1_700, height: 1_700, channels: 3 } as const;
    const noise = sharp(randomBytes(raw.width * raw.height * raw.channels), { raw });
    const base64 = (await noise.png({ compressionLevel: 0 }).toBuffer()).toString("base64");
    expect(base64.length).toBeGreaterThan(10 * 1_048_576);
    const { pictureId } = (await call(client, "add_picture", { base64 })).facts;
    const uri = `atelier://pictures/${pictureId}`;
    expect((await client.listResources()).resources).toContainEqual(expect.objectContaining({ uri }));
    expect((await client.readResource({ uri })).contents).toMatchObject([{ uri, mimeType: "image/webp" }]);
    await expect(client.readResource({ uri: `${uri}/original` })).rejects.toThrow(/at most/);
    expect((await client.listPrompts()).prompts.length).toBeGreaterThan(0);
    const params = { name: "generate_image", arguments: long };
    const steps = await Array.fromAsync(
      client.experimental.tasks.callToolStream(params, undefined, { task: {} }),
    );
    expect([steps[0]?.type, steps.at(-1)?.type]).toEqual(["taskCreated", "result"]);
  });
});

test("long work goes on as a job that can be asked for, waited for and cancelled", async () => {
  const client = await open(overHttp());
  const asked = { prompt: "a house", model: "atelier/t2i_sdxl", waitSeconds: 0 };
  const begun = await call(client, "generate_image", asked);
  const [{ jobId }] = begun.facts.jobs;
  expect(begun.facts.next).toMatch(/job_status/);
  const done = await call(client, "job_status", { jobId, waitSeconds: 60 });
  expect([done.facts.status, done.pictures.length]).toEqual(["completed", 1]);
  // It ends by being cancelled alone.
  studio.comfy.inject({ kind: "hang" });
  const other = await call(client, "generate_image", asked);
  const stopped = await call(client, "cancel_job", { jobId: other.facts.jobs[0].jobId });
  expect(stopped.facts.cancelled).toBe(true);
});

test("changes, enlarges and cuts out a picture that was added", inAll, async () => {
  const client = await open(overHttp());
  const base64 = (await drawPhoto(256, 256)).toString("base64");
  const { pictureId } = (await call(client, "add_picture", { base64 })).facts;
  const steps = [
    ["edit_image", { prompt: "in snow" }],
    ["upscale_image", { scale: 2 }],
    ["remove_background", {}],
  ] as const;
  for (const [name, args] of steps) {
    const { facts } = await call(client, name, { pictureId, waitSeconds: 60, ...args });
    expect([name, facts.jobs?.[0]?.status]).toEqual([name, "completed"]);
  }
  const outfit = await call(client, "change_outfit", { personId: pictureId, garmentIds: [pictureId] });
  expect([outfit.isError, outfit.facts.error]).toEqual([true, "consent_required"]);
});

test("nothing is bought without its price in the call", async () => {
  // Nothing beats for it, so that the worker of the studio takes it for lost some seconds later.
  const openShop = () =>
    addNode(studio.services, { queue: "cloud", slots: 9, needs: ["cloud/painter"], providers: ["fal"] });
  await openShop();
  const client = await open(overHttp(studio.admin.key));
  const model = "atelier/painter";
  const count = () => studio.services.db.$count(schema.jobs);
  const before = await count();
  const estimated = await call(client, "estimate", { kind: "text_to_image", model, prompt: "a house" });
  expect(estimated.facts).toMatchObject({ isPossible: true, priceUsd: 0.04 });
  const placed = await call(client, "estimate", {
    kind: "remove_background",
    pictureIds: { image: crypto.randomUUID() },
    params: { position: { x: 0.5, y: 0.5 } },
  });
  // Of the request only the picture is wrong.
  expect(placed.facts.error).toBe("not_found");
  for (const maxPriceUsd of [undefined, 0.03]) {
    await openShop();
    const refused = await call(client, "generate_image", { prompt: "a house", model, maxPriceUsd });
    expect([refused.isError, refused.facts.error]).toEqual([true, "not_agreed"]);
    expect(refused.facts.message).toMatch(/\$0\.04.*maxPriceUsd/s);
  }
  await openShop();
  const named = await call(client, "generate_image", {
    prompt: "a house",
    model: `${model}@0.04`,
    maxPriceUsd: 0,
  });
  expect(named.facts.error).toBe("not_agreed");
  expect(await count()).toBe(before);
  const bought = { prompt: "a house", model, maxPriceUsd: 0.04, waitSeconds: 0 };
  await openShop();
  const begun = await call(client, "generate_image", bought);
  expect(begun.facts).toMatchObject({ jobs: [{ jobId: expect.any(String) }] });
  await call(client, "cancel_job", { jobId: begun.facts.jobs[0].jobId });
  expect(await count()).toBe(before + 1);
  const cap = { usd: 0.03, period: "never" } as const;
  const capped = await createApiKey(studio.services, { userId: studio.admin.id, name: "capped", cap });
  const buyer = await open(overHttp(capped.key));
  await openShop();
  const refused = await call(buyer, "generate_image", bought);
  expect([refused.isError, refused.facts.error]).toEqual([true, "budget_exceeded"]);
  expect(refused.facts.message).toContain("This API key may spend $0.030 in all");
});

test("another's pictures and jobs are as unknown as what never was", async () => {
  const [owner, stranger] = [await open(overHttp()), await open(overHttp(studio.stranger.key))];
  const base64 = (await drawPhoto(64, 64)).toString("base64");
  const { pictureId } = (await call(owner, "add_picture", { base64 })).facts;
  const { facts } = await call(stranger, "show_picture", { pictureId });
  expect(facts.error).toBe("not_found");
  const edited = await call(stranger, "upscale_image", { pictureId });
  expect(edited.facts.error).toBe("not_found");
});

test("a wrong key is refused", async () => {
  await expect(open(overHttp("wrong"))).rejects.toThrow(/API key/);
});

const openJobs = () =>
  studio.services.db.$count(schema.jobs, sql`status not in ('completed', 'failed', 'cancelled')`);

test("a call that its client cancels ends its job, another client's with the same id goes on", async () => {
  studio.comfy.inject({ kind: "hold" });
  const runs = studio.startedRuns();
  const { db } = studio.services;
  const gone = () => db.$count(schema.jobs, sql`status = 'cancelled' or cancel_requested_at is not null`);
  const before = await gone();
  const [one, other] = [await open(overHttp()), await open(overHttp())];
  const leaving = new AbortController();
  const named = (client: Client, signal?: AbortSignal) =>
    client.callTool({ name: "generate_image", arguments: long }, undefined, signal ? { signal } : {});
  const left = named(one, leaving.signal).catch((error: unknown) => error);
  const stays = named(other);
  await vi.waitUntil(async () => (await openJobs()) === 2, { timeout: 10_000, interval: 20 });
  await vi.waitUntil(() => studio.startedRuns() > runs, { timeout: 10_000, interval: 20 });
  leaving.abort("changed my mind");
  expect(await left).toBeInstanceOf(Error);
  await vi.waitUntil(async () => (await gone()) === before + 1, { timeout: 10_000, interval: 20 });
  studio.comfy.release();
  const answer = await stays;
  expect(JSON.stringify(answer)).toMatch(/completed/);
  expect(await gone()).toBe(before + 1);
});

test("long work is a task: its jobs, which any process answers for, and its owner alone", async () => {
  const client = await open(overHttp());
  const { tools } = await client.listTools();
  const support = new Map(tools.map(({ name, execution }) => [name, execution?.taskSupport]));
  expect([support.get("generate_image"), support.get("list_models")]).toEqual(["optional", undefined]);
  const params = { name: "generate_image", arguments: { ...long, count: 2 } };
  const options = { task: { ttl: 60_000 } };
  const seen = await Array.fromAsync(client.experimental.tasks.callToolStream(params, undefined, options));
  expect([seen[0], seen.at(-1)]).toMatchObject([
    { type: "taskCreated", task: { status: "working", ttl: null } },
    { type: "result", result: { content: [{ type: "text" }, { type: "image" }, { type: "image" }] } },
  ]);
  const taskId = seen[0]?.type === "taskCreated" ? seen[0].task.taskId : "";
  const again = await open(overHttp());
  expect((await again.experimental.tasks.getTask(taskId)).status).toBe("completed");
  expect((await again.experimental.tasks.listTasks()).tasks.map((task) => task.taskId)).toContain(taskId);
  await expect(again.experimental.tasks.cancelTask(taskId)).rejects.toThrow(/completed/);
  const stranger = await open(overHttp(studio.stranger.key));
  expect((await stranger.experimental.tasks.listTasks()).tasks).toEqual([]);
  for (const reach of [
    () => stranger.experimental.tasks.getTask(taskId),
    () => stranger.experimental.tasks.getTaskResult(taskId),
    () => stranger.experimental.tasks.cancelTask(taskId),
  ])
    await expect(reach()).rejects.toThrow(/not found/);
  // Its two jobs end by being cancelled alone.
  studio.comfy.inject({ kind: "hang", times: "forever" });
  const begun = await client.request(
    { method: "tools/call", params: { ...params, task: {} } },
    CreateTaskResultSchema,
  );
  const stopped = await client.experimental.tasks.cancelTask(begun.task.taskId);
  expect(stopped.status).toBe("cancelled");
  const result = await client.experimental.tasks.getTaskResult(begun.task.taskId, CallToolResultSchema);
  expect(result).toMatchObject({ isError: true });
});

test("S9 a key that only looks finds pictures and changes nothing", async () => {
  const { services, owner } = studio;
  const { key } = await createApiKey(services, { userId: owner.id, name: "looks", rights: ["read"] });
  const client = await open(overHttp(key));
  expect((await call(client, "search_gallery", {})).isError).toBeUndefined();
  const jobs = await services.db.$count(schema.jobs);
  for (const [name, args] of [
    ["generate_image", { prompt: "a lighthouse" }],
    ["add_picture", { base64: "AAAA" }],
  ] as const)
    expect(await call(client, name, args)).toMatchObject({
      isError: true,
      facts: { error: "forbidden", right: "create" },
    });
  expect(await services.db.$count(schema.jobs)).toBe(jobs);
  const base64 = (await drawPhoto(256, 256)).toString("base64");
  const { pictureId } = (await call(await open(overHttp()), "add_picture", { base64 })).facts;
  const { resources } = await client.listResources();
  const uri = `atelier://pictures/${pictureId}`;
  expect(resources).toContainEqual(expect.objectContaining({ uri, mimeType: "image/webp" }));
  const { resourceTemplates } = await client.listResourceTemplates();
  for (const { uriTemplate } of resourceTemplates) {
    const filled = new UriTemplate(uriTemplate).expand({ pictureId });
    const [content] = (await client.readResource({ uri: filled })).contents;
    const blob = content && "blob" in content ? content.blob : "";
    const { format, width } = await sharp(Buffer.from(blob, "base64")).metadata();
    expect([content?.uri, content?.mimeType, width]).toEqual([filled, `image/${format}`, 256]);
  }
  const stranger = await open(overHttp(studio.stranger.key));
  expect((await stranger.listResources()).resources).toEqual([]);
  await expect(stranger.readResource({ uri })).rejects.toMatchObject({ code: -32_002 });
});

test("prompts name tools that are there, and hold what the person gave", async () => {
  const client = await open(overHttp());
  const tools = new Set((await client.listTools()).tools.map(({ name }) => name));
  const { prompts } = await client.listPrompts();
  expect(prompts.map(({ name }) => name)).toEqual(["make_picture", "change_outfit", "improve_prompt"]);
  for (const { name, arguments: taken = [] } of prompts) {
    const given = Object.fromEntries(taken.map((one) => [one.name, `my ${one.name}`]));
    const { messages } = await client.getPrompt({ name, arguments: given });
    const [content] = messages.map((message) => message.content);
    const text = content?.type === "text" ? content.text : "";
    for (const one of taken) expect(text).toContain(`${one.name}: my ${one.name}`);
    const named = text.match(/\b[a-z]+_(?:image|models|gallery|outfit|picture)\b/g) ?? [];
    expect(named.filter((word) => !tools.has(word))).toEqual([]);
    expect(named.length).toBeGreaterThan(0);
  }
  const without = client.getPrompt({ name: "change_outfit", arguments: { person: "me" } });
  await expect(without).rejects.toThrow(/"garments" is missing/);
});
