// @module-tag all
import { createHmac } from "node:crypto";
import { globSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import os from "node:os";
import path from "node:path";
import sharp from "sharp";
import { createApiKey } from "@atelier/server/accounts";
import { handleHttp } from "@atelier/server/api";
import { createEndpoint, testEndpoint } from "@atelier/server/deliveries";
import type { Services } from "@atelier/server/services";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { findFreePort } from "../../scripts/process/tools.ts";
import { addJob, addOwner, readJob, readStory, type TestOwner, until } from "../jobs/index.ts";
import { killAtExit, type NodeRun, runNode } from "../processes/index.ts";
import { startS3 } from "../s3/index.ts";
import { answerBy } from "../http/index.ts";
import { createTestServices, type TestServices, type TestServicesOptions } from "../services/index.ts";
import { processEnv, startTestWorker, type TestWorker } from "../worker/index.ts";

const root = path.join(import.meta.dirname, "../..");
const photo = path.join(root, "public/samples/coffee.png");

interface Studio {
  readonly services: Services;
  readonly owner: TestOwner;
  /** What the examples are started with. */
  readonly env: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

/** The studio's HTTP API on a port of this machine, with an account and its key. */
async function openStudio(options: TestServicesOptions = {}): Promise<Studio> {
  const fixture: TestServices = await createTestServices(options);
  const { services } = fixture;
  const server = createServer(answerBy((request) => handleHttp(services, request)));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const owner = await addOwner(services);
  const { key } = await createApiKey(services, { userId: owner.userId, name: "examples" });
  return {
    services,
    owner,
    env: { APP_URL: `http://127.0.0.1:${port}`, ATELIER_API_KEY: key },
    async close() {
      server.close();
      server.closeAllConnections();
      await fixture.close();
    },
  };
}

let studio: Studio;
let folder: string;
const workers: TestWorker[] = [];
const runs: NodeRun[] = [];

beforeAll(async () => {
  studio = await openStudio({ env: { ALLOWED_PRIVATE_HOSTS: "127.0.0.1" } });
  folder = await mkdtemp(path.join(os.tmpdir(), "atelier-examples-"));
});
afterEach(async () => {
  for (const run of runs.splice(0)) run.child.kill("SIGTERM");
  for (const worker of workers.splice(0)) await worker.term();
});
afterAll(async () => {
  await studio.close();
  await rm(folder, { recursive: true, force: true });
});

const used = new Set<string>();

/** Starts an example as its first lines say. */
function start(
  name: string,
  args: readonly string[] = [],
  env: Readonly<Record<string, string | undefined>> = studio.env,
): NodeRun {
  used.add(`${name}.ts`);
  const run = runNode([path.join(root, "examples", `${name}.ts`), ...args], { ...process.env, ...env });
  killAtExit(run.child);
  runs.push(run);
  return run;
}

async function endOf(run: NodeRun) {
  const code = await run.ended;
  return { code, output: run.output() };
}

async function startWorker(): Promise<void> {
  workers.push(await startTestWorker(studio.services));
}

test("submit-and-wait: a picture goes up, its job ends, and the result is saved", async () => {
  await startWorker();
  const target = path.join(folder, "large.png");
  const run = start("submit-and-wait", [photo, target]);
  expect(await endOf(run)).toMatchObject({ code: 0 });
  expect(run.output()).toMatch(/^completed 100 %$/m);
  expect((await sharp(target).metadata()).format).toBe("png");
});

test("upload-directly: a file goes to the studio's own address, and is not sent a second time", async () => {
  const run = start("upload-directly", [photo]);
  expect(await endOf(run)).toMatchObject({ code: 0 });
  const [, id = ""] = /^sent to the studio, stored as ([\w-]{36}), 600 x 400$/m.exec(run.output()) ?? [];
  const again = start("upload-directly", [photo]);
  expect(await endOf(again)).toMatchObject({ code: 0 });
  expect(again.output()).toContain(`known as ${id}`);
});

test("upload-directly: in a studio with a bucket the file goes into it by a signed link", async () => {
  const s3 = await startS3();
  const bucket = await openStudio({ env: { ...s3.env } });
  try {
    const run = start("upload-directly", [photo], bucket.env);
    expect(await endOf(run)).toMatchObject({ code: 0 });
    expect(run.output()).toContain(`sent to ${new URL(s3.env.S3_ENDPOINT).host}, stored as `);
  } finally {
    await bucket.close();
    await s3.destroy();
  }
});

test("follow-job: every event of a job comes once and in order, and the program ends with the job", async () => {
  const jobId = await addJob(studio.services, { owner: studio.owner, simulate: { runMs: 300 } });
  const run = start("follow-job", [jobId]);
  await run.seen(/created -> pending/);
  await startWorker();
  expect(await endOf(run)).toMatchObject({ code: 0 });
  const story = await readStory(studio.services, jobId);
  const lines = run.output().trim().split("\n");
  expect(lines.map((line) => line.split(" ").slice(1).join(" "))).toEqual(
    story.map(({ revision, type, status }) => `${revision} ${type} -> ${status}`),
  );
});

test("follow-job: a job that is not there is refused once, not asked for again and again", async () => {
  const run = start("follow-job", [studio.owner.imageId]);
  expect(await endOf(run)).toMatchObject({
    code: 1,
    output: expect.stringMatching(/^refused: .*"not_found"/),
  });
});

test("receive-webhook: what the studio signed is taken once, everything else is refused", async () => {
  await startWorker();
  const { services, owner } = studio;
  const port = await findFreePort();
  const url = `http://127.0.0.1:${port}/`;
  const ownerId = owner.userId;
  const { id: endpointId, secret } = await createEndpoint(services, { ownerId, url });
  const run = start("receive-webhook", [], { PORT: String(port), WEBHOOK_SECRET: secret });
  await run.seen(/listens on/);
  await testEndpoint(services, { ownerId, id: endpointId });
  await run.seen(/endpoint.test/);
  const jobId = await addJob(services, { owner });
  await until(services, jobId, "completed");
  await run.seen(new RegExp(`job.completed ${jobId} \\S*/api/v1/images/`));

  const post = (key: string, timeS: number) => {
    const body = JSON.stringify({ type: "job.completed", data: { id: "forged" } });
    const time = String(Math.floor(timeS));
    const signature = createHmac("sha256", Buffer.from(key, "base64"))
      .update(`a.${time}.${body}`)
      .digest("base64");
    const headers = { "webhook-id": "a", "webhook-timestamp": time, "webhook-signature": `v1,${signature}` };
    return fetch(url, { method: "POST", headers, body }).then(({ status }) => status);
  };
  const key = secret.replace("whsec_", "");
  const nowS = Date.now() / 1_000;
  expect(await post(Buffer.alloc(32).toString("base64"), nowS)).toBe(401);
  expect(await post(key, nowS - 3_600)).toBe(401);
  expect(run.output()).not.toContain("forged");
  expect(await post(key, nowS)).toBe(204);
  expect(await post(key, nowS)).toBe(204);
  await run.seen(/known: a/);
});

test("write-an-engine: the worker takes jobs with its own engine, and leaves in order", async () => {
  const { services, owner } = studio;
  const run = start("write-an-engine", [], { ...processEnv(services), WORKER_NAME: "pixels" });
  const jobId = await addJob(services, { owner });
  await until(services, jobId, "completed");
  expect((await readJob(services, jobId)).facts).toMatchObject({ scale: 2 });
  run.child.kill("SIGTERM");
  expect(await endOf(run)).toMatchObject({ code: 0 });
});

test("every example was run", () => {
  expect([...used].toSorted()).toEqual(globSync("*.ts", { cwd: path.join(root, "examples") }).toSorted());
});
