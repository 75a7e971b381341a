import { rm } from "node:fs/promises";
import path from "node:path";
import { readJob } from "@atelier/testing/jobs";
import { listObjects } from "@atelier/testing/pictures";
import { testOrigin } from "@atelier/testing/services";
import { and, eq, isNotNull, sql } from "drizzle-orm";
import type { Hono } from "hono";
import sharp from "sharp";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type JobStatus, schema } from "../../db/index.ts";
import { removeImages } from "../../images/index.ts";
import { expireEphemeral } from "../../jobs/index.ts";
import { newId } from "../../platform/index.ts";
import { createClientsApp } from "./app.ts";
import { type ClientScene, completeJob, drawPng, endJob, openClientScene } from "./fixtures/scene.ts";

const { jobs, images, resultHolds } = schema;

let scene: ClientScene;
beforeAll(async () => {
  scene = await openClientScene();
});
afterAll(() => scene.close());

async function newJob(key = scene.owner.key, userId = "u"): Promise<string> {
  const response = await scene.send("/jobsRedis", {
    method: "POST",
    key,
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ userId, prompt: "a boat" }),
  });
  return ((await response.json()) as { jobId: string }).jobId;
}

async function readyJob(): Promise<string> {
  const id = await newJob();
  await completeJob(scene, id, await drawPng("teal"));
  return id;
}

const ask = (id: string, key = scene.owner.key) => scene.send(`/jobResult?jobId=${id}`, { key });
const isGone = async (id: string) => (await scene.services.db.$count(jobs, eq(jobs.id, id))) === 0;
/** The answer is noted, and when its time is over the sweep removes the job with its pictures. */
async function untilGone(id: string): Promise<void> {
  const answered = and(eq(jobs.id, id), isNotNull(jobs.answeredAt));
  const { db } = scene.services;
  await vi.waitUntil(async () => (await db.$count(jobs, answered)) === 1, { timeout: 10_000, interval: 10 });
  await expireEphemeral(scene.services);
  expect(await isGone(id)).toBe(false);
  await db
    .update(jobs)
    .set({ answeredAt: sql`now() - interval '601 s'` })
    .where(eq(jobs.id, id));
  await expireEphemeral(scene.services);
  expect(await isGone(id)).toBe(true);
}
const setStatus = (id: string, status: JobStatus) =>
  scene.services.db.update(jobs).set({ status }).where(eq(jobs.id, id));
const statusAndBody = async (response: Response) => [response.status, await response.json()] as const;

test("A7 A16 an unknown, a malformed and another's job are 404, without an id it is 400", async () => {
  const id = await readyJob();
  const answers = [];
  for (const response of [await ask(newId()), await ask("x"), await ask(id, scene.stranger.key)])
    answers.push(await statusAndBody(response));
  expect(answers[0]).toEqual([404, expect.objectContaining({ code: "not_found" })]);
  expect([answers[1], answers[2]]).toEqual([answers[0], answers[0]]);
  expect((await scene.send("/jobResult")).status).toBe(400);
});

test.each([
  ["pending", "pending"],
  ["queued", "pending"],
  ["waiting_for_engine", "pending"],
  ["processing", "processing"],
] as const)("A7 A16 a job that is %s is 202 and stays", async (status, shown) => {
  const id = await newJob();
  await setStatus(id, status);
  expect(await statusAndBody(await ask(id))).toEqual([202, expect.objectContaining({ status: shown })]);
  expect((await readJob(scene.services, id)).status).toBe(status);
});

test("A7 A16 a failed job is told with its error as often as it is asked for, until its time is over", async () => {
  const id = await newJob();
  await endJob(scene.services, id, "failed");
  const told = { status: "failed", error: "The engine gave up." };
  for (let times = 0; times < 2; times += 1) expect(await statusAndBody(await ask(id))).toEqual([200, told]);
  await untilGone(id);
  expect((await ask(id)).status).toBe(404);
});

test("A7 A16 a result comes as base64 with its type, and again until its time is over; then rows and files are gone", async () => {
  const id = await newJob();
  const objects = async () => (await listObjects(scene.services)).filter((key) => key.includes(id));
  const png = await drawPng("teal", 257);
  await completeJob(scene, id, png);
  expect(await objects()).toHaveLength(3);
  const response = await scene.send(`/jobResult?job_id=${id}`);
  const text = await response.text();
  expect(Number(response.headers.get("content-length"))).toBe(Buffer.byteLength(text));
  const body = JSON.parse(text) as Record<string, string>;
  expect(body).toMatchObject({ status: "completed", image_type: "image/png" });
  const sent = Buffer.from(body["image_data_base64"] ?? "", "base64");
  const pixels = (bytes: Buffer) => sharp(bytes).removeAlpha().raw().toBuffer();
  expect((await pixels(sent)).equals(await pixels(png))).toBe(true);
  // The answer may have been lost on its way.
  await vi.waitUntil(async () => (await scene.services.db.$count(resultHolds)) === 0);
  expect(await (await ask(id)).text()).toBe(text);
  await untilGone(id);
  expect(await scene.services.db.$count(images, eq(images.jobId, id))).toBe(0);
  await vi.waitUntil(async () => (await objects()).length === 0);
  expect((await ask(id)).status).toBe(404);
});

test("A7 A16 a result whose file is gone is 404, then the job is gone", async () => {
  const id = await readyJob();
  await rm(path.join(scene.services.env.ATELIER_DATA_DIR, "files/jobs", id), { recursive: true });
  const [status, body] = await statusAndBody(await ask(id));
  expect([status, body]).toEqual([404, expect.objectContaining({ error: expect.stringContaining("gone") })]);
  await untilGone(id);
});

test("A7 A16 a result that its owner deleted is 404, then the job is gone", async () => {
  const id = await newJob();
  const imageId = await completeJob(scene, id, await drawPng("teal"));
  await removeImages(scene.services, { ids: [imageId], ownerId: scene.owner.id });
  const response = await ask(id);
  expect(response.status).toBe(404);
  await response.text();
  await untilGone(id);
});

test("A7 A16 a completed job without a picture is 500, then it is gone", async () => {
  const id = await newJob();
  await endJob(scene.services, id, "completed");
  expect(await statusAndBody(await ask(id))).toEqual([500, expect.objectContaining({ status: "error" })]);
  await untilGone(id);
});

test("A7 A16 any other status is 200 with the status, and nothing is deleted", async () => {
  const id = await newJob();
  await endJob(scene.services, id, "cancelled");
  for (let times = 0; times < 2; times += 1)
    expect(await statusAndBody(await ask(id))).toEqual([200, { status: "cancelled" }]);
  expect(await isGone(id)).toBe(false);
});

test("A7 a result is not removed by HEAD, and is there afterwards", async () => {
  const id = await readyJob();
  const head = await scene.send(`/jobResult?jobId=${id}`, { method: "HEAD" });
  expect([head.status, await head.text()]).toEqual([200, ""]);
  await vi.waitUntil(async () => (await scene.services.db.$count(resultHolds)) === 0);
  const response = await ask(id);
  expect(response.status).toBe(200);
  await response.text();
});

test("A8 a kept job's result is read as often as wished", async () => {
  const id = await readyJob();
  await scene.services.db.update(jobs).set({ retention: "keep" }).where(eq(jobs.id, id));
  for (let times = 0; times < 2; times += 1) {
    const response = await ask(id);
    expect(response.status).toBe(200);
    await response.text();
  }
  expect(await isGone(id)).toBe(false);
});

test("A7 C4 a reader that is not done holds the result; when its time is over, the next one gets it", async () => {
  const id = await readyJob();
  const crashed = await ask(id);
  expect(crashed.status).toBe(200);
  expect((await ask(id)).status).toBe(202);
  await scene.services.db
    .update(resultHolds)
    .set({ heldUntil: sql`clock_timestamp() - interval '1 second'` });
  const next = await ask(id);
  expect(next.status).toBe(200);
  // The first reader comes to life again: what the second one reads must not be removed under it.
  await expect(crashed.text()).rejects.toMatchObject({ code: "conflict" });
  expect(await isGone(id)).toBe(false);
  expect(JSON.parse(await next.text())).toMatchObject({ status: "completed" });
  await untilGone(id);
});

test("A7 a reader that breaks off in the middle gives the result back", async () => {
  const id = await readyJob();
  const response = await ask(id);
  const reader = response.body?.getReader();
  expect((await reader?.read())?.done).toBe(false);
  expect((await ask(id)).status).toBe(202);
  await reader?.cancel();
  const isBack = async () => {
    const again = await ask(id);
    const isOk = again.status === 200;
    if (isOk) await again.text();
    return isOk;
  };
  await vi.waitUntil(isBack, { timeout: 5_000, interval: 10 });
  await untilGone(id);
});

test("A7 C3 of readers at many instances each gets the whole result or 202, one at a time", async () => {
  const apps: Hono[] = [];
  for (let i = 0; i < 3; i += 1) apps.push(createClientsApp(await scene.openAnother()));
  const headers = { authorization: `Bearer ${scene.owner.key}` };
  for (let round = 0; round < 8; round += 1) {
    const id = await readyJob();
    const racers = Array.from({ length: 12 }, async (_, i) => {
      const request = new Request(`${testOrigin}/jobResult?jobId=${id}`, { headers });
      const response = await apps[i % apps.length]?.fetch(request);
      const body = (await response?.json()) as { status: string };
      return `${response?.status} ${response?.status === 200 ? body.status : ""}`;
    });
    const answers = await Promise.all(racers);
    expect(answers.filter((answer) => answer === "200 completed").length).toBeGreaterThan(0);
    expect(answers.filter((answer) => !/^(200 completed|202 )/.test(answer))).toEqual([]);
    await untilGone(id);
  }
});

test("A16 an admin's key reads the results of its clients, and of no other person", async () => {
  const { admin } = scene;
  const ofClient = await newJob(admin.key, "bob");
  await completeJob(scene, ofClient, await drawPng("teal"));
  expect((await ask(ofClient, scene.owner.key)).status).toBe(404);
  expect((await ask(await readyJob(), admin.key)).status).toBe(404);
  const response = await ask(ofClient, admin.key);
  expect(response.status).toBe(200);
  await response.text();
  await untilGone(ofClient);
});
