import { buffer } from "node:stream/consumers";
import { schema } from "@atelier/server/db";
import { plainKinds } from "@atelier/server/engines";
import { getImage, ingest, openOriginal } from "@atelier/server/images";
import { claim, submit } from "@atelier/server/jobs";
import { adjustBand, type Adjustments, cropBand, planAdjust, type Rgba } from "@atelier/server/retouch";
import { readDigitalSourceType } from "@atelier/testing/pictures";
import { addNode, addOwner, readJob, type TestOwner, testQueue } from "@atelier/testing/jobs";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { eq } from "drizzle-orm";
import sharp from "sharp";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createSharedServers } from "../../shared-servers.ts";
import { runJob } from "../../run-job.ts";
import type { Engine } from "../port.ts";
import { createLocalEngine } from "./engine.ts";

const { images, jobOutputs } = schema;

let opened: TestServices;
let engine: Engine;
let nodeId: string;
let owner: TestOwner;

beforeAll(async () => {
  opened = await createTestServices();
  engine = createLocalEngine();
  nodeId = await addNode(opened.services);
});
afterAll(async () => {
  await engine.close();
  await opened.close();
});
beforeEach(async () => {
  owner = await addOwner(opened.services);
});

const size = { width: 96, height: 64 } as const;

/** Gradients of all channels; in its right half alpha falls from 255 to 0. */
function gradients(): Buffer {
  const data = Buffer.alloc(size.width * size.height * 4);
  for (let at = 0; at < size.width * size.height; at += 1) {
    const [x, y] = [at % size.width, Math.floor(at / size.width)];
    const alpha = x < 48 ? 255 : 255 - (x - 48) * 5;
    data.set([(x * 255) / 95, (y * 255) / 63, 255 - (x * 255) / 95, alpha], at * 4);
  }
  return data;
}

const drawn = () => sharp(gradients(), { raw: { ...size, channels: 4 } });

async function upload(bytes: Buffer, role: "upload" | "mask" = "upload"): Promise<string> {
  return (await ingest(opened.services, { ownerId: owner.userId, role, bytes })).id;
}

const offers = plainKinds.map((kind) => ({ need: `local/${kind}`, servers: null }) as const);

/** Submits a job, runs it as a worker does, and returns the id of its result. */
async function run(request: object): Promise<string> {
  const { services } = opened;
  const { id } = await submit(services, request, { submitter: owner });
  const job = await claim(services, { nodeId, queue: testQueue, offers });
  if (job?.id !== id) throw new Error("the job was not claimed");
  await runJob(services, {
    job,
    lease: { jobId: id, attempt: job.attempt, nodeId },
    engine,
    otherServers: [],
    sharedServers: createSharedServers(services),
    signal: new AbortController().signal,
    onBegin: () => undefined,
  });
  expect(await readJob(services, id)).toMatchObject({ status: "completed" });
  const [output] = await services.db.select().from(jobOutputs).where(eq(jobOutputs.jobId, id));
  return output?.imageId ?? "";
}

async function bytesOf(id: string): Promise<Buffer> {
  const [row] = await opened.services.db.select().from(images).where(eq(images.id, id));
  if (!row) throw new Error(`there is no picture ${id}`);
  return buffer(await openOriginal(opened.services, row));
}

/** The pixels as a browser decodes them. */
async function pixelsOf(id: string): Promise<Rgba> {
  const { data, info } = await sharp(await bytesOf(id))
    .ensureAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true });
  return { data, width: info.width, height: info.height };
}

/** The largest difference of a channel, of pixels that are visible. */
function farthest(a: Rgba, b: Rgba): number {
  expect([a.width, a.height, a.data.length]).toEqual([b.width, b.height, b.data.length]);
  let most = 0;
  for (let at = 0; at < a.data.length; at += 1)
    if (a.data[at | 3] !== 0) most = Math.max(most, Math.abs((a.data[at] ?? 0) - (b.data[at] ?? 0)));
  return most;
}

const adjustments: Adjustments = { light: 35, contrast: 40, saturation: -25, temperature: 30, sharpness: 60 };

/** What the pages draw: the same formula over the stored picture. */
async function drawAdjusted(id: string): Promise<Rgba> {
  const picture = await pixelsOf(id);
  return { ...picture, data: adjustBand(picture, planAdjust(adjustments), { top: 0, rows: picture.height }) };
}

describe("a picture that is adjusted by the worker", () => {
  const pictures: readonly (readonly [string, () => Promise<Buffer>])[] = [
    ["with transparency", () => drawn().png().toBuffer()],
    ["a JPEG", () => drawn().removeAlpha().jpeg().toBuffer()],
    ["of 16 bits", () => drawn().toColourspace("rgb16").png().toBuffer()],
    ["of 16 bits in Display P3", () => drawn().toColourspace("rgb16").withIccProfile("p3").png().toBuffer()],
  ];
  test.each(pictures)("is what the browser shows, and the upload stays as it was: %s", async (_, make) => {
    const image = await upload(await make());
    const before = await bytesOf(image);
    const result = await run({ kind: "adjust", inputs: { image }, params: adjustments });
    expect(farthest(await pixelsOf(result), await drawAdjusted(image))).toBeLessThanOrEqual(1);
    expect(farthest(await pixelsOf(result), await pixelsOf(image))).toBeGreaterThan(20);
    expect((await bytesOf(image)).equals(before)).toBe(true);
  });

  test("keeps the colours of a wide gamut: neutral adjustments give those that were drawn", async () => {
    const raw = { width: 2, height: 2, channels: 3 } as const;
    const colours = Buffer.from([200, 100, 50, 60, 170, 90, 90, 80, 190, 128, 128, 128]);
    const plain = sharp(colours, { raw }).resize(32, 32, { kernel: "nearest" });
    const wide = plain.clone().toColourspace("rgb16").withIccProfile("p3");
    const result = await run({
      kind: "adjust",
      inputs: { image: await upload(await wide.png().toBuffer()) },
    });
    const expected = { data: await plain.ensureAlpha().raw().toBuffer(), width: 32, height: 32 };
    expect(farthest(expected, await pixelsOf(result))).toBeLessThanOrEqual(2);
  });
});

test("a crop has exactly the pixels of its part; straightened it is what the formula says", async () => {
  const image = await upload(await drawn().png().toBuffer());
  const picture = await pixelsOf(image);
  const level = { turns: 1, mirror: true, angle: 0, rect: { left: 4, top: 9, width: 50, height: 80 } };
  for (const crop of [level, { turns: 0, mirror: false, angle: -12.5 }]) {
    const made = await pixelsOf(await run({ kind: "crop", inputs: { image }, params: crop }));
    const expected = { ...made, data: cropBand(picture, crop, { top: 0, rows: made.height }) };
    expect(farthest(expected, made)).toBe(0);
  }
});

test("what is restored is that of the base inside of the mask and that of the picture outside, exactly", async () => {
  const base = await upload(await drawn().png().toBuffer());
  const image = await run({ kind: "adjust", inputs: { image: base }, params: adjustments });
  const marks = Uint8Array.from({ length: size.width * size.height }, (_, at) => {
    const x = at % size.width;
    return x < 30 ? 255 : Math.max(0, 255 - (x - 30) * 20);
  });
  const grey = sharp(marks, { raw: { ...size, channels: 1 } });
  const mask = await upload(await grey.toColourspace("b-w").png().toBuffer(), "mask");
  const made = await pixelsOf(await run({ kind: "restore", inputs: { image, base, mask } }));
  const [before, back] = [await pixelsOf(image), await pixelsOf(base)];
  const seen = { inside: 0, outside: 0, between: 0 };
  for (let at = 0; at < made.data.length; at += 1) {
    const [own = 0, old = 0, now = 0] = [before.data[at], back.data[at], made.data[at]];
    const share = marks[at >> 2];
    if (share === 255) seen.inside += now === old ? 1 : 0;
    else if (share === 0) seen.outside += now === own ? 1 : 0;
    else seen.between += now >= Math.min(own, old) - 1 && now <= Math.max(own, old) + 1 ? 1 : 0;
  }
  expect(seen).toEqual({ inside: 31 * 64 * 4, outside: 53 * 64 * 4, between: 12 * 64 * 4 });
});

describe("the mark of an AI", () => {
  const markOf = async (id: string) => ({
    isAi: (await getImage(opened.services, { ownerId: owner.userId, id })).isAi,
    origin: (await readDigitalSourceType(await bytesOf(id)))?.split("/").at(-1),
  });

  test("is not on an upload that was only adjusted, cropped and restored", async () => {
    const base = await upload(await drawn().png().toBuffer());
    const mask = await upload(await drawn().removeAlpha().png().toBuffer(), "mask");
    const adjusted = await run({ kind: "adjust", inputs: { image: base }, params: adjustments });
    const restored = await run({ kind: "restore", inputs: { image: adjusted, base, mask } });
    const cropped = await run({ kind: "crop", inputs: { image: restored }, params: { turns: 2 } });
    for (const id of [adjusted, restored, cropped])
      expect(await markOf(id)).toEqual({ isAi: false, origin: "humanEdits" });
  });

  test("stays on what was made of a generated picture, wherever in the chain that was", async () => {
    const base = await upload(await drawn().png().toBuffer());
    const mask = await upload(await drawn().removeAlpha().png().toBuffer(), "mask");
    const generated = await run({ kind: "adjust", inputs: { image: base }, params: adjustments });
    // As the row of a result of any other kind is.
    await opened.services.db.update(images).set({ nothingGenerated: false }).where(eq(images.id, generated));
    const cropped = await run({ kind: "crop", inputs: { image: generated } });
    const again = await run({ kind: "adjust", inputs: { image: cropped }, params: { light: 5 } });
    const painted = await run({ kind: "restore", inputs: { image: base, base: generated, mask } });
    for (const id of [generated, cropped, again, painted])
      expect(await markOf(id)).toMatchObject({ isAi: true });
    expect(await markOf(painted)).toMatchObject({ origin: "compositeWithTrainedAlgorithmicMedia" });
  });
});

test("a part beyond the picture and a base of another size are refused before the job is accepted", async () => {
  const image = await upload(await drawn().png().toBuffer());
  const other = await upload(await drawn().resize(48, 32).png().toBuffer());
  const mask = await upload(await drawn().removeAlpha().png().toBuffer(), "mask");
  const rect = { left: 60, top: 0, width: 40, height: 10 };
  const sent = (request: object) => submit(opened.services, request, { submitter: owner });
  await expect(sent({ kind: "crop", inputs: { image }, params: { rect } })).rejects.toMatchObject({
    code: "bad_request",
  });
  await expect(sent({ kind: "crop", inputs: { image }, params: { angle: 46 } })).rejects.toMatchObject({
    code: "bad_request",
  });
  await expect(sent({ kind: "restore", inputs: { image, base: other, mask } })).rejects.toMatchObject({
    code: "bad_request",
  });
  await expect(sent({ kind: "adjust", inputs: { image }, params: { light: 101 } })).rejects.toMatchObject({
    code: "bad_request",
  });
});
