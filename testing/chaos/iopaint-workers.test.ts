// @module-tag all
import { setTimeout as sleep } from "node:timers/promises";
import { schema } from "@atelier/server/db";
import { ingest } from "@atelier/server/images";
import { searchJobs, searchJobsSchema, submit } from "@atelier/server/jobs";
import { startIopaintSimulator, type IopaintSimulator } from "@atelier/testing/iopaint";
import { eq, sql } from "drizzle-orm";
import sharp from "sharp";
import { expect, test } from "vitest";
import { waitUntil } from "../../scripts/process/tools.ts";
import { realTimeMs } from "../cases/index.ts";
import { readJob, readStory, until } from "../jobs/index.ts";
import { readFileOf } from "../pictures/index.ts";
import type { TestWorkerOptions } from "../worker/index.ts";
import { openScene, type Scene } from "./scene.ts";

const startMs = 90_000;
const colors = ["#d02020", "#20d020", "#2020d0", "#d0d020", "#20d0d0", "#d020d0"] as const;

type OnFinished = (end: () => Promise<void>) => void;

/** A server, and two worker processes of it. */
async function openWorkers(onFinished: OnFinished, workMs: number, options: TestWorkerOptions = {}) {
  const server = await startIopaintSimulator({ workMs });
  onFinished(() => server.close());
  const scene = await openScene(onFinished, { config: { queues: { "cpu-light": {} } } });
  const start = (name: string) => scene.startWorker({ ...options, name, env: { IOPAINT_URLS: server.url } });
  const workers = await Promise.all([start("first"), start("second")]);
  await waitUntil(async () => (await countServed(scene)) === workers.length, startMs);
  return { scene, server, workers };
}

async function countServed({ services }: Scene): Promise<number> {
  const { nodeQueues } = schema;
  const rows = await services.db
    .select()
    .from(nodeQueues)
    .where(sql`'iopaint/upscale' = any(${nodeQueues.needs})`);
  return rows.length;
}

/** A job whose picture has one colour, and so has its result. */
async function submitColor({ services, owner }: Scene, background: string): Promise<string> {
  const create = { width: 40, height: 30, channels: 3 as const, background };
  const { id } = await ingest(services, {
    ownerId: owner.userId,
    role: "upload",
    bytes: await sharp({ create }).png().toBuffer(),
    name: "color.png",
    signal: new AbortController().signal,
  });
  const request = { kind: "upscale", engine: "iopaint", inputs: { image: id } };
  return (await submit(services, request, { submitter: owner })).id;
}

async function readColor({ services }: Scene, jobId: string): Promise<string> {
  const { jobOutputs } = schema;
  const [output] = await services.db.select().from(jobOutputs).where(eq(jobOutputs.jobId, jobId));
  const bytes = await readFileOf(services, output?.imageId ?? "", "original");
  const { channels } = await sharp(bytes).removeAlpha().stats();
  return `#${channels.map(({ mean }) => Math.round(mean).toString(16).padStart(2, "0")).join("")}`;
}

/** The job that the server works on, and the process of its worker. */
async function findAtWork(scene: Scene, server: IopaintSimulator) {
  const { serverLeases, nodes } = schema;
  await waitUntil(() => server.stats().mostAtOnce > 0, startMs);
  const [lease] = await scene.services.db.select().from(serverLeases);
  const [node] = await scene.services.db
    .select()
    .from(nodes)
    .where(eq(nodes.id, lease?.nodeId ?? ""));
  if (!lease || !node) throw new Error("no worker has the lease of the server");
  return { jobId: lease.jobId, pid: node.pid };
}

test.concurrent(
  "A10 D1 workers that share an IOPaint server give each job its own picture, and the jobs name the server",
  { timeout: realTimeMs },
  async ({ onTestFinished }) => {
    const { scene, server } = await openWorkers(onTestFinished, 300);
    const { services } = scene;
    const jobIds = await Promise.all(colors.map((color) => submitColor(scene, color)));
    for (const id of jobIds) await until(services, id, "completed");
    expect(await Promise.all(jobIds.map((id) => readColor(scene, id)))).toEqual(colors);
    expect(server.stats()).toMatchObject({
      mostAtOnce: 1,
      failures: 0,
      plugins: { RealESRGAN: colors.length },
    });
    const [id = ""] = jobIds;
    expect(await readJob(services, id)).toMatchObject({ server: server.url, externalId: null, charged: 0 });
    const story = await readStory(services, id);
    expect(story.filter(({ type }) => type === "posted")).toMatchObject([{ data: { server: server.url } }]);
    const search = searchJobsSchema.parse({ server: new URL(server.url).host });
    const { items } = await searchJobs(services, search);
    expect(items.map((item) => item.id).toSorted()).toEqual(jobIds.toSorted());
    expect(await scene.faults()).toEqual([]);
  },
);

test.concurrent(
  "A6 D1 a killed worker's lease of an IOPaint server ends, and the job that waited for the server is not charged",
  { timeout: realTimeMs },
  async ({ onTestFinished }) => {
    const { scene, server, workers } = await openWorkers(onTestFinished, 0, { config: "shortRest" });
    const { services } = scene;
    const killed = Promise.withResolvers<void>();
    // The server does not notice, and works on for a while: less than it is left alone.
    server.inject({ kind: "slow", until: killed.promise.then(() => sleep(1_000)) });
    const jobIds = [await submitColor(scene, colors[0]), await submitColor(scene, colors[1])];
    const atWork = await findAtWork(scene, server);
    await workers.find(({ pid }) => pid === atWork.pid)?.kill9();
    killed.resolve();
    for (const id of jobIds) await until(services, id, "completed");
    expect(await Promise.all(jobIds.map((id) => readColor(scene, id)))).toEqual(colors.slice(0, 2));
    expect(server.stats()).toMatchObject({ mostAtOnce: 1, failures: 0, plugins: { RealESRGAN: 3 } });
    const innocent = jobIds.find((id) => id !== atWork.jobId) ?? "";
    expect((await readJob(services, innocent)).charged).toBe(0);
    expect(await scene.faults()).toEqual([]);
  },
);
