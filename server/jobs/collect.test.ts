import { addNode, localOffers, readJob, testQueue } from "@atelier/testing/jobs";
import { openJobScene } from "@atelier/testing/scenes";
import { eq } from "drizzle-orm";
import { expect, test, vi } from "vitest";
import { schema } from "../db/index.ts";
import { streamLimits } from "../live/index.ts";
import { confirmCancel } from "./cancel.ts";
import { collect } from "./collect.ts";
import { fail } from "./fail.ts";
import { claim, start } from "./claimed.ts";
import { submit } from "./submit.ts";
import { AppError } from "../platform/index.ts";

const scene = openJobScene({ isEmptied: true });

async function newJob() {
  const { services, owner } = scene;
  const nodeId = await addNode(services);
  const request = { kind: "upscale", inputs: { image: owner.imageId }, retention: "ephemeral" };
  const { id } = await submit(services, request, { submitter: owner });
  const begin = async () => {
    await claim(services, { nodeId, queue: testQueue, offers: localOffers });
    await start(services, { jobId: id, attempt: 1, nodeId });
    return { jobId: id, attempt: 1, nodeId };
  };
  return { address: { id, ownerId: owner.userId }, begin };
}

const isGone = async (id: string) =>
  (await scene.services.db.$count(schema.jobs, eq(schema.jobs.id, id))) === 0;
const never = new AbortController().signal;
const reading = {
  read: () => Promise.reject(new Error("there is no result")),
  isAllowed: () => Promise.resolve(true),
};

test("D2 D6 a job whose client leaves while it waits is cancelled and gone", async () => {
  const { address } = await newJob();
  const leave = new AbortController();
  const answer = collect(scene.services, address, { signal: leave.signal, waitMs: 60_000, ...reading });
  leave.abort();
  await expect(answer).rejects.toMatchObject({ code: "bad_request" });
  expect(await isGone(address.id)).toBe(true);
});

test("D2 a job that is not done in time is cancelled and gone, its client is told", async () => {
  const { address } = await newJob();
  const answer = collect(scene.services, address, { signal: never, waitMs: 50, ...reading });
  await expect(answer).rejects.toMatchObject({ code: "engine_timeout" });
  expect(await isGone(address.id)).toBe(true);
});

test("D2 D6 a running job is asked to stop, and goes when its worker has stopped it", async () => {
  const { services } = scene;
  const { address, begin } = await newJob();
  const lease = await begin();
  const leave = new AbortController();
  const answer = collect(services, address, { signal: leave.signal, waitMs: 60_000, ...reading });
  leave.abort();
  await expect(answer).rejects.toMatchObject({ code: "bad_request" });
  expect(await readJob(services, address.id)).toMatchObject({
    status: "processing",
    cancelRequestedAt: expect.any(Date),
    ackedAt: expect.any(Date),
  });
  expect(await confirmCancel(services, lease)).toBe(true);
  expect(await isGone(address.id)).toBe(true);
});

test("D2 the error of a failed job reaches its client, and the job is gone", async () => {
  const { services } = scene;
  const { address, begin } = await newJob();
  const lease = await begin();
  const answer = collect(services, address, { signal: never, waitMs: 60_000, ...reading });
  const [settled] = await Promise.allSettled([
    answer,
    fail(services, lease, new AppError("mask_empty", "Nothing to do.")),
  ]);
  expect(settled).toMatchObject({ reason: { code: "mask_empty", message: "Nothing to do." } });
  await vi.waitUntil(() => isGone(address.id));
});

test("S1 a job whose client may wait no more is cancelled and gone", async () => {
  const { recheckMs } = streamLimits;
  const { address } = await newJob();
  streamLimits.recheckMs = 0;
  try {
    const isAllowed = () => Promise.reject(new AppError("unauthorized"));
    const waits = { signal: never, waitMs: 60_000, ...reading, isAllowed };
    await expect(collect(scene.services, address, waits)).rejects.toMatchObject({ code: "unauthorized" });
  } finally {
    streamLimits.recheckMs = recheckMs;
  }
  expect(await isGone(address.id)).toBe(true);
});
