import { startIopaintSimulator, type IopaintSimulator } from "@atelier/testing/iopaint";
import { addImage, addOwner, readJob, type TestOwner } from "@atelier/testing/jobs";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { startTestWorker, type TestWorker } from "@atelier/testing/worker";
import { eq, sql } from "drizzle-orm";
import sharp from "sharp";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { schema } from "../db/index.ts";
import { getImage, ingest, listImages, purgeDeleted, readAs } from "../images/index.ts";
import { readCapabilities } from "./capabilities.ts";
import { ack } from "./cleanup.ts";
import { get } from "./read.ts";
import { submit } from "./submit.ts";
import { submitWithPictures } from "./submit-with-pictures.ts";

const { images, nodeQueues } = schema;
const sizePx = { width: 60, height: 40 } as const;
const clicks = [
  { x: 20, y: 10 },
  { x: 40, y: 30 },
  { x: 45, y: 30, mode: "exclude" },
];

let opened: TestServices;
let server: IopaintSimulator;
let worker: TestWorker;
let owner: TestOwner;
let imageId: string;

beforeAll(async () => {
  opened = await createTestServices();
  server = await startIopaintSimulator({ plugins: ["InteractiveSeg"] });
  worker = await startTestWorker(opened.services, { env: { IOPAINT_URLS: server.url } });
  const isOffered = sql`'iopaint/segment' = any(${nodeQueues.needs})`;
  await vi.waitUntil(async () => (await opened.services.db.$count(nodeQueues, isOffered)) > 0, {
    timeout: 30_000,
    interval: 50,
  });
}, 60_000);
afterAll(async () => {
  await worker.term();
  await server.close();
  await opened.close();
});
beforeEach(async () => {
  const { services } = opened;
  owner = await addOwner(services);
  const picture = sharp({ create: { ...sizePx, channels: 3, background: "#7a6" } });
  const bytes = await picture.png().toBuffer();
  imageId = (await ingest(services, { ownerId: owner.userId, role: "upload", bytes })).id;
});

const request = (changes: object = {}) => ({
  kind: "segment",
  inputs: { image: imageId },
  params: { clicks },
  ...changes,
});

/** Runs a selection to its end; returns the ids of the job and of its mask. */
async function select(changes: object = {}) {
  const { services } = opened;
  const { id } = await submit(services, request(changes), { submitter: owner });
  const isDone = async () => (await readJob(services, id)).status === "completed";
  await vi.waitUntil(isDone, { timeout: 20_000, interval: 20 });
  const job = await get(services, { ownerId: owner.userId, id });
  return { jobId: id, maskId: job.outputs[0]?.imageId ?? "" };
}

describe("D2 segment", () => {
  test("the result is a mask of the picture's size that shows the clicks", async () => {
    const { services } = opened;
    const { maskId } = await select();
    const own = { ownerId: owner.userId, id: maskId };
    expect(await getImage(services, own)).toMatchObject({ role: "mask", widthPx: 60, heightPx: 40 });
    const png = await readAs(services, own, "png");
    expect(await sharp(png).metadata()).toMatchObject({ format: "png", channels: 1 });
    const grey = await sharp(png).extractChannel(0).raw().toBuffer();
    const at = (x: number, y: number) => grey[y * sizePx.width + x];
    // The simulator selects discs of 6 pixels, and takes away what is in reach of an excluding click.
    expect([at(20, 10), at(35, 30), at(40, 30), at(45, 30), at(5, 35)]).toEqual([255, 255, 0, 0, 0]);
  });

  test("the mask is no picture of the gallery, and serves as the mask of another job", async () => {
    const { services } = opened;
    const { maskId } = await select();
    const { items } = await listImages(services, { ownerId: owner.userId, limit: 50 });
    expect(items.map(({ id }) => id)).not.toContain(maskId);
    const inputs = { image: imageId, mask: maskId };
    const inpaint = await submit(services, { kind: "inpaint", inputs }, { submitter: owner });
    expect(inpaint.status).toMatch(/queued|pending/);
    const wrong = submit(services, { kind: "upscale", inputs: { image: maskId } }, { submitter: owner });
    await expect(wrong).rejects.toMatchObject({ code: "bad_request" });
  });

  test("an ephemeral selection goes with its mask; the picture that it was made on stays", async () => {
    const { services } = opened;
    const { jobId, maskId } = await select({ retention: "ephemeral" });
    expect(await ack(services, { ownerId: owner.userId, id: jobId })).toEqual({ removed: true });
    expect(await services.db.$count(images, eq(images.id, maskId))).toBe(0);
    expect(await services.db.$count(images, eq(images.id, imageId))).toBe(1);
  });

  test("a photo that came with its ephemeral selection goes with it, whenever it was taken", async () => {
    const { services } = opened;
    const exif = { IFD2: { DateTimeOriginal: "2016:07:12 10:11:12", OffsetTimeOriginal: "+00:00" } };
    const photo = sharp({ create: { ...sizePx, channels: 3, background: "#a67" } }).withExif(exif);
    const { id } = await submitWithPictures(services, {
      request: { kind: "segment", params: { clicks }, retention: "ephemeral" },
      pictures: [{ role: "image", bytes: await photo.jpeg().toBuffer() }],
      submitter: owner,
      signal: new AbortController().signal,
    });
    const isDone = async () => (await readJob(services, id)).status === "completed";
    await vi.waitUntil(isDone, { timeout: 20_000, interval: 20 });
    const isTaken = eq(images.createdAt, new Date("2016-07-12T10:11:12Z"));
    expect(await services.db.$count(images, isTaken)).toBe(1);
    expect(await ack(services, { ownerId: owner.userId, id })).toEqual({ removed: true });
    expect(await services.db.$count(images, isTaken)).toBe(0);
  });

  test("the mask of a kept selection stays as long as its job", async () => {
    const { services } = opened;
    const { maskId } = await select();
    await services.db
      .update(images)
      .set({ createdAt: sql`now() - interval '30 days'` })
      .where(eq(images.id, maskId));
    await purgeDeleted(services);
    expect(await services.db.$count(images, eq(images.id, maskId))).toBe(1);
  });

  test("what stands out needs no click: the local engine selects it", async () => {
    const { services } = opened;
    const { jobId, maskId } = await select({ params: { subject: true } });
    expect(await readJob(services, jobId)).toMatchObject({ engine: "local" });
    const own = { ownerId: owner.userId, id: maskId };
    expect(await getImage(services, own)).toMatchObject({ role: "mask" });
  });

  test.each([
    {},
    { clicks, subject: true },
    { subject: false },
    { box: { left: 50, top: 0, width: 11, height: 5 } },
  ])("%j is refused: it is not one way, or reaches beyond the picture", async (params) => {
    const refused = submit(opened.services, request({ params }), { submitter: owner });
    await expect(refused).rejects.toMatchObject({ code: "bad_request" });
  });

  test.each([
    ["no click", []],
    ["excluding clicks alone", [{ x: 1, y: 1, mode: "exclude" }]],
    ["51 clicks", Array.from({ length: 51 }, () => ({ x: 1, y: 1 }))],
    ["half a pixel", [{ x: 1.5, y: 1 }]],
    ["a click beside the picture", [{ x: 60, y: 1 }]],
    ["a click below the picture", [{ x: 1, y: 40 }]],
  ])("%s is refused", async (_name, wrong) => {
    const refused = submit(opened.services, request({ params: { clicks: wrong } }), { submitter: owner });
    await expect(refused).rejects.toMatchObject({ code: "bad_request" });
  });

  test("another owner's picture cannot be selected on", async () => {
    const { services } = opened;
    const stranger = await addOwner(services);
    const image = await addImage(services, stranger.userId);
    const refused = submit(services, request({ inputs: { image } }), { submitter: owner });
    await expect(refused).rejects.toMatchObject({ code: "not_found" });
  });

  // Last: the server's ability is gone afterwards.
  test("it is available while a live server has the plugin, and not a moment longer", async () => {
    const { services } = opened;
    const find = async () =>
      (await readCapabilities(services, { mayUseCloud: false })).items.find(({ kind }) => kind === "segment");
    expect(await find()).toMatchObject({
      available: true,
      engine: "iopaint",
      reason: null,
      means: ["clicks", "subject"],
    });
    await worker.term();
    await vi.waitUntil(async () => !(await find())?.available, { timeout: 10_000, interval: 50 });
    expect(await find()).toMatchObject({
      engine: null,
      engines: [],
      means: [],
      reason: expect.stringContaining("InteractiveSeg"),
    });
  });
});
