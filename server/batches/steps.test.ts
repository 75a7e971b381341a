import { setTimeout } from "node:timers/promises";
import { addImage, addNode, addOwner } from "@atelier/testing/jobs";
import { openBatchScene, submitting } from "@atelier/testing/scenes";
import { createTestServices } from "@atelier/testing/services";
import { startTestWorker } from "@atelier/testing/worker";
import { and, eq, inArray, type SQL, sql } from "drizzle-orm";
import sharp from "sharp";
import { expect, test, vi } from "vitest";
import { createApiKey, revokeApiKey } from "../accounts/index.ts";
import { schema } from "../db/index.ts";
import { getImage, ingest, purgeDeleted, removeImages, restoreImages } from "../images/index.ts";
import { retry } from "../jobs/index.ts";
import type { Services } from "../services.ts";
import { hasConsent, stateConsent, withdrawConsent } from "../wardrobe/index.ts";
import {
  beginSteps,
  cancelBatch,
  estimateBatch,
  getBatch,
  noteCompleted,
  purgeBatches,
  removeBatch,
  retryBatch,
  stopStepsOfKey,
  streamBatch,
  submitBatch,
} from "./index.ts";

const scene = openBatchScene();

const upscale = { kind: "upscale" };
const twice = (...steps: object[]) => ({ ...upscale, inputs: { image: scene.owner.imageId }, steps });
const { open } = scene;
const send = (jobs: readonly object[], more: object = {}) => scene.send({ jobs, ...more });
const address = (id: string) => ({ ownerId: scene.owner.userId, id });
const jobsOf = () =>
  scene.services.db
    .select()
    .from(schema.jobs)
    .where(eq(schema.jobs.ownerId, scene.owner.userId))
    .orderBy(schema.jobs.id);

/** As a worker completes a job, without its engine. Returns the result. */
async function complete(id: string, { services }: { readonly services: Services } = scene): Promise<string> {
  const { db } = services;
  const [job] = await db.select().from(schema.jobs).where(eq(schema.jobs.id, id));
  const imageId = await addImage(services, job?.ownerId ?? "");
  await db.transaction(async (tx) => {
    await tx.insert(schema.jobOutputs).values({ jobId: id, position: 0, imageId });
    await tx
      .update(schema.jobs)
      .set({ status: "completed", progress: 1, endedAt: new Date() })
      .where(eq(schema.jobs.id, id));
  });
  return imageId;
}

/** A batch whose jobs have completed and whose steps are due. */
async function sendDue(places = 1, ...steps: object[]) {
  const own = steps.length === 0 ? [upscale] : steps;
  const hook = { webhookUrl: "https://hooks.example.org/batch" };
  const { id, jobIds } = await send(
    Array.from({ length: places }, () => twice(...own)),
    hook,
  );
  const results: string[] = [];
  for (const jobId of jobIds) results.push(await complete(jobId));
  return { id, jobIds, results };
}

const countDeliveries = (id: string) =>
  scene.services.db.$count(schema.deliveries, eq(schema.deliveries.batchId, id));

test("D1 a worker runs the steps of each place on the result before; the batch ends once, with the last", async () => {
  const { services } = scene;
  const jobs = [twice(upscale, { kind: "remove_background" }), twice(upscale), twice()];
  const { id } = await send(jobs, { webhookUrl: "https://hooks.example.org/batch" });
  const followed: string[] = [];
  const following = (async () => {
    for await (const event of streamBatch(services, { ...address(id), signal: scene.as.signal }))
      if (event) followed.push(event.status);
  })();
  const worker = await startTestWorker(services, { slots: 2 });
  await vi.waitUntil(async () => (await open(id)).endedAt !== null, { timeout: 30_000 });
  await following;
  await worker.kill9();
  const batch = await open(id);
  expect(batch).toMatchObject({ status: "ended", progress: 1, counts: { completed: 3 } });
  expect(batch.jobs.map(({ job, steps }) => [job?.kind, steps?.begun ?? null])).toEqual([
    ["remove_background", 2],
    ["upscale", 1],
    ["upscale", null],
  ]);
  const all = await Promise.all((batch.jobs[0]?.steps?.before ?? []).map(readPictures));
  const last = batch.jobs[0]?.job;
  expect(all[0]?.inputs).toEqual([scene.owner.imageId]);
  expect(all[1]?.inputs).toEqual(all[0]?.outputs);
  expect(last?.inputs.map(({ imageId }) => imageId)).toEqual(all[1]?.outputs);
  expect(await countDeliveries(id)).toBe(1);
  expect(followed.at(-1)).toBe("ended");
  // What was made on the way is a result of the batch, too.
  expect((await removeBatch(services, address(id))).imageIds).toHaveLength(6);
});

test("the end of a batch is told also where its last job was told before", async () => {
  const { db } = scene.services;
  const { jobs } = schema;
  const { id, jobIds } = await send([twice()]);
  const followed: (readonly [string, number])[] = [];
  for await (const event of streamBatch(scene.services, { ...address(id), signal: scene.as.signal })) {
    if (event) followed.push([event.status, event.jobs.length]);
    if (followed.length > 1) break;
    // The counts are read beside the jobs, so they may be of a moment before: as if the job had been told as it ends here.
    await db.transaction(async (tx) => {
      await tx.execute(sql`set local session_replication_role = replica`);
      const ended = { status: "completed", progress: 1, endedAt: new Date() } as const;
      await tx.update(jobs).set(ended).where(inArray(jobs.id, jobIds));
    });
    // Tells the owner's readers of a change.
    await send([twice()]);
  }
  expect(followed).toEqual([
    ["open", 1],
    ["ended", 0],
  ]);
});

test("a step gets its shape by the size of the result before, which nobody knew when it was ordered", async () => {
  const crop = { kind: "crop", params: { shape: "1:2" } };
  const { id, results } = await sendDue(1, crop);
  const [stored] = await scene.services.db
    .select()
    .from(schema.images)
    .where(inArray(schema.images.id, results));
  expect(await beginSteps(scene.services, { batchId: id })).toBe(1);
  const { widthPx = 0, heightPx = 0 } = stored ?? {};
  const width = Math.round(heightPx / 2);
  const rect = { left: Math.floor((widthPx - width) / 2), top: 0, width, height: heightPx };
  expect((await open(id)).jobs[0]?.job).toMatchObject({
    kind: "crop",
    params: { turns: 0, mirror: false, angle: 0, rect },
  });
});

test("a step whose result before has its shape already is passed, and what follows goes on with that", async () => {
  const { services } = scene;
  await addNode(services, { queue: "gpu-high", needs: ["comfyui/expand_flux_fill"] });
  const grow = { kind: "expand", params: { shape: "1:1" } };
  const { id, jobIds } = await sendDue(1, grow, upscale, grow);
  expect(await beginSteps(services, { batchId: id })).toBe(1);
  const [place] = (await open(id)).jobs;
  expect(place?.job).toMatchObject({ kind: "upscale" });
  expect(place?.steps).toMatchObject({ begun: 2, before: jobIds, stopped: null });
  await complete(place?.job?.id ?? "");
  expect(await beginSteps(services, { batchId: id })).toBe(0);
  expect(await open(id)).toMatchObject({ status: "ended", counts: { completed: 1 } });
  expect(await countDeliveries(id)).toBe(1);
});

async function readPictures(jobId: string) {
  const { db } = scene.services;
  const { jobInputs, jobOutputs } = schema;
  const inputs = await db.select().from(jobInputs).where(eq(jobInputs.jobId, jobId));
  const outputs = await db.select().from(jobOutputs).where(eq(jobOutputs.jobId, jobId));
  return { inputs: inputs.map((row) => row.imageId), outputs: outputs.map((row) => row.imageId) };
}

test.each([
  ["its own first picture", "bad_request", [{ ...upscale, inputs: { image: "x" } }]],
  ["a kind without a picture", "bad_request", [{ kind: "text_to_image", params: { prompt: "a cup" } }]],
  ["wrong settings", "bad_request", [{ ...upscale, params: { scale: 3 } }]],
  [
    "a picture that is not there",
    "not_found",
    [{ kind: "inpaint", inputs: { mask: "01a21c4e-c3ac-7152-a470-514d7abbdf2c" } }],
  ],
  ["a result that is too large", "output_too_large", Array.from({ length: 3 }, () => upscale)],
  ["too many steps", "bad_request", Array.from({ length: 4 }, () => upscale)],
] as const)("a step with %s is refused with its batch", async (_name, code, steps) => {
  const large = await addImage(scene.services, scene.owner.userId);
  await scene.services.db
    .update(schema.images)
    .set({ widthPx: 2_000, heightPx: 2_000 })
    .where(eq(schema.images.id, large));
  const job = { ...upscale, inputs: { image: large }, steps };
  await expect(send([job])).rejects.toMatchObject({ code });
  expect(await jobsOf()).toEqual([]);
});

test("steps are part of the price of the batch, and bound to it", async () => {
  const job = twice(upscale, upscale);
  const estimate = await estimateBatch(scene.services, { jobs: [job] }, scene.as);
  expect(estimate).toMatchObject({ jobs: 1, refused: [], maxPriceUsd: 0 });
  const { id } = await send([job]);
  const steps = await scene.services.db
    .select()
    .from(schema.batchSteps)
    .where(eq(schema.batchSteps.batchId, id));
  expect(steps).toMatchObject([
    { number: 1, maxPriceUsd: 0, request: { agreed: { maxPriceUsd: 0, ownOnly: true } } },
    { number: 2, maxPriceUsd: 0 },
  ]);
});

test("C1 a step takes further pictures that no request named before, and none of another owner", async () => {
  const [shirt, jeans] = [
    await addImage(scene.services, scene.owner.userId),
    await addImage(scene.services, scene.owner.userId),
  ];
  const { imageId: foreign } = await addOwner(scene.services);
  const dress = (garment: string) => ({
    kind: "outfit_change",
    engine: "local",
    params: { category: "top", consent: true },
    inputs: { garment },
  });
  const outfit = (second: string) => {
    const { inputs, ...first } = dress(shirt);
    return { ...first, inputs: { ...inputs, person: scene.owner.imageId }, steps: [dress(second)] };
  };
  const estimate = await estimateBatch(scene.services, { jobs: [outfit(jeans)] }, scene.as);
  expect(estimate).toMatchObject({ jobs: 1, refused: [] });
  const refused = await estimateBatch(scene.services, { jobs: [outfit(foreign)] }, scene.as);
  expect(refused.refused).toMatchObject([{ position: 0, code: "not_found" }]);
  // The consent of the first pass is that of the passes after it, unless one denies it.
  const [first, later] = [outfit(jeans), dress(jeans)];
  const silent = { ...later, params: { category: "bottom" } };
  const denied = { ...later, params: { consent: false } };
  expect(
    await estimateBatch(scene.services, { jobs: [{ ...first, steps: [silent] }] }, scene.as),
  ).toMatchObject({ refused: [] });
  expect(
    await estimateBatch(scene.services, { jobs: [{ ...first, steps: [denied] }] }, scene.as),
  ).toMatchObject({ refused: [{ code: "consent_required" }] });
  const { id, jobIds } = await send([{ ...first, steps: [silent] }]);
  await complete(jobIds[0] ?? "");
  await beginSteps(scene.services);
  expect(await open(id)).toMatchObject({
    jobs: [{ job: { kind: "outfit_change", inputs: expect.anything() }, steps: { begun: 1, stopped: null } }],
  });
});

test("C1 S3 a pass does not begin once the statement about the photo of its order is withdrawn", async () => {
  const { services, owner } = scene;
  const photo = { ownerId: owner.userId, imageId: owner.imageId };
  const [shirt, jeans] = [await addImage(services, owner.userId), await addImage(services, owner.userId)];
  const pass = { kind: "outfit_change", engine: "local", params: { consent: true } };
  const first = { ...pass, inputs: { person: owner.imageId, garment: shirt } };
  const { id, jobIds } = await send([{ ...first, steps: [{ ...pass, inputs: { garment: jeans } }] }]);
  const resultId = await complete(jobIds[0] ?? "");
  await withdrawConsent(services, photo);
  expect(await beginSteps(services)).toBe(0);
  expect(await open(id)).toMatchObject({
    jobs: [{ steps: { begun: 0, stopped: { code: "consent_required" } } }],
  });
  expect(await hasConsent(services, { ...photo, imageId: resultId })).toBe(false);
  await stateConsent(services, photo);
  await retryBatch(services, { submitter: scene.as.submitter, id });
  expect(await open(id)).toMatchObject({ jobs: [{ steps: { begun: 1, stopped: null } }] });
});

test("C1 S3 a statement that is withdrawn while a pass runs stops the passes after it, and that pass is not tried again", async () => {
  const { services, owner } = scene;
  const { db } = services;
  const person = await addImage(services, owner.userId);
  const photo = { ownerId: owner.userId, imageId: person };
  const pass = { kind: "outfit_change", engine: "local", params: { consent: true } };
  const garment = await addImage(services, owner.userId);
  const again = { ...pass, inputs: { garment } };
  const first = { ...pass, inputs: { person, garment }, steps: [again, { ...again, params: {} }] };
  const { id, jobIds } = await send([first, first]);
  const results = [await complete(jobIds[0] ?? ""), await complete(jobIds[1] ?? "")];
  expect(await beginSteps(services)).toBe(2);
  // What nobody said of a result is not stored in its owner's name.
  for (const imageId of results) expect(await hasConsent(services, { ...photo, imageId })).toBe(false);
  await withdrawConsent(services, photo);
  const [done, failed] = (await open(id)).jobs.map(({ job }) => job?.id ?? "");
  await complete(done ?? "");
  await db
    .update(schema.jobs)
    .set({ status: "failed", errorCode: "internal", endedAt: new Date() })
    .where(eq(schema.jobs.id, failed ?? ""));
  expect(await beginSteps(services)).toBe(0);
  expect(await open(id)).toMatchObject({
    jobs: [{ steps: { begun: 1, stopped: { code: "consent_required" } } }, { steps: { begun: 1 } }],
  });
  const tryAgain = () => retry(services, { submitter: scene.as.submitter, id: failed ?? "" });
  await expect(tryAgain()).rejects.toMatchObject({ code: "consent_required" });
  // The statement about a result is not that about the photo.
  await stateConsent(services, { ...photo, imageId: results[1] ?? "" });
  await expect(tryAgain()).rejects.toMatchObject({ code: "consent_required" });
  await stateConsent(services, photo);
  const { id: next } = await tryAgain();
  await retryBatch(services, { submitter: scene.as.submitter, id });
  await complete(next);
  expect(await beginSteps(services)).toBe(1);
  expect(await open(id)).toMatchObject({
    jobs: [{ steps: { begun: 2, stopped: null } }, { steps: { begun: 2, stopped: null } }],
  });
});

test("C1 S3 passes go on with a photo that is gone for good no more", async () => {
  const { services, owner } = scene;
  const person = await addImage(services, owner.userId);
  const pass = { kind: "outfit_change", engine: "local", params: { consent: true } };
  const garment = await addImage(services, owner.userId);
  const again = { ...pass, inputs: { garment } };
  const { id, jobIds } = await send([{ ...pass, inputs: { person, garment }, steps: [again] }]);
  await complete(jobIds[0] ?? "");
  await services.db.delete(schema.jobInputs).where(eq(schema.jobInputs.imageId, person));
  expect(await beginSteps(services)).toBe(0);
  expect(await open(id)).toMatchObject({ jobs: [{ steps: { stopped: { code: "consent_required" } } }] });
});

test("C1 S3 an outfit change on the result of another step states what its order says of that result", async () => {
  const { services, owner } = scene;
  const garment = await addImage(services, owner.userId);
  const pass = { kind: "outfit_change", engine: "local", inputs: { garment } };
  const dress = { ...pass, params: { consent: true } };
  const { id, jobIds } = await send([twice(dress, { ...pass, params: {} })]);
  const before = await complete(jobIds[0] ?? "");
  expect(await beginSteps(services)).toBe(1);
  const photo = { ownerId: owner.userId, imageId: before };
  expect(await hasConsent(services, photo)).toBe(true);
  await withdrawConsent(services, photo);
  await complete((await open(id)).jobs[0]?.job?.id ?? "");
  expect(await beginSteps(services)).toBe(0);
  await stateConsent(services, photo);
  await retryBatch(services, { submitter: scene.as.submitter, id });
  expect(await open(id)).toMatchObject({ jobs: [{ steps: { begun: 2, stopped: null } }] });
});

test("a paid step counts for the price of the batch, and is refused when it has become dearer until it begins", async ({
  onTestFinished,
}) => {
  const offer = { provider: "fal", endpoint: "e", input: { prompt: "$prompt" }, priceUsd: 0.04 };
  const inputs = { required: ["image"], optional: [] };
  const painter = { id: "painter", title: "P", kind: "edit", inputs, params: ["prompt"], offers: [offer] };
  const own = await createTestServices({ config: { cloud: { models: [painter] } } });
  onTestFinished(() => own.close());
  const { services } = own;
  const { userId, imageId } = await addOwner(services);
  await addNode(services);
  await addNode(services, { queue: "cloud", providers: ["fal"], slots: 9, needs: ["cloud/painter"] });
  const edit = { kind: "edit", model: "painter", params: { prompt: "blue" } };
  const jobs = [{ ...upscale, inputs: { image: imageId }, steps: [edit, edit] }];
  const options = submitting(userId);
  expect(await estimateBatch(services, { jobs }, options)).toMatchObject({
    cloudJobs: 2,
    maxPriceUsd: 0.08,
    cloud: { model: "painter" },
  });
  await expect(submitBatch(services, { jobs, maxPriceUsd: 0.05 }, options)).rejects.toMatchObject({
    code: "not_agreed",
    details: { priceUsd: 0.08 },
  });
  const { id, jobIds } = await submitBatch(services, { jobs, maxPriceUsd: 0.08 }, options);
  const read = () => getBatch(services, { ownerId: userId, id });
  expect(await read()).toMatchObject({ maxPriceUsd: 0.08 });
  const submitter = { ...options.submitter, rights: new Set(["read", "create"] as const) };
  await cancelBatch(services, { ownerId: userId, id });
  const lacks = { code: "forbidden", details: { right: "spend" } };
  await expect(retryBatch(services, { submitter, id })).rejects.toMatchObject(lacks);
  await expect(retry(services, { submitter, id: jobIds[0] ?? "" })).rejects.toMatchObject(lacks);
  await retryBatch(services, { submitter: options.submitter, id });
  const [place] = (await read()).jobs;
  // As if the price had been lower when it was agreed.
  await services.db
    .update(schema.batchSteps)
    .set({ request: { ...edit, inputs: {}, agreed: { maxPriceUsd: 0.03 } } })
    .where(eq(schema.batchSteps.number, 1));
  await complete(place?.job?.id ?? "", own);
  expect(await beginSteps(services)).toBe(0);
  expect(await read()).toMatchObject({
    status: "ended",
    jobs: [{ steps: { stopped: { code: "not_agreed" } } }],
  });
});

test("the steps of a batch are bought with the key that sent it", async () => {
  const submitter = { ...scene.owner, keyId: "a key" };
  const { id, jobIds } = await submitBatch(
    scene.services,
    { jobs: [twice(upscale)] },
    { ...scene.as, submitter },
  );
  await complete(jobIds[0] ?? "");
  expect(await beginSteps(scene.services, { batchId: id })).toBe(1);
  const keys = (await jobsOf()).map(({ apiKeyId }) => apiKeyId).filter((apiKeyId) => apiKeyId !== null);
  expect(keys).toEqual(["a key", "a key"]);
});

test("F11 twenty that begin a step at the same moment begin one job", async () => {
  const another = await scene.openAnother();
  const { id, jobIds, results } = await sendDue();
  const [first, second] = [scene.services, another];
  await Promise.all(Array.from({ length: 20 }, (_, at) => beginSteps(at % 2 === 0 ? first : second)));
  const jobs = await jobsOf();
  expect(jobs).toHaveLength(2);
  const [place] = (await open(id)).jobs;
  expect(place).toMatchObject({
    job: { status: expect.stringMatching(/pending|queued/), inputs: [{ imageId: results[0] }] },
    steps: { begun: 1, count: 1, before: jobIds },
  });
  expect(place?.job?.id).not.toBe(jobIds[0]);
  // The step that is not due yet does not begin.
  expect(await beginSteps(first)).toBe(0);
});

test("a hundred ends cost one look, and a process that closes begins what it completed", async () => {
  const another = await scene.openAnother();
  let looks = 0;
  const db = new Proxy(another.db, {
    get: (object, name) => {
      const value: unknown = Reflect.get(object, name, object);
      if (name === "execute") looks += 1;
      return typeof value === "function" ? value.bind(object) : value;
    },
  });
  const counted: Services = { ...another, db };
  for (let at = 0; at < 100; at += 1) noteCompleted(counted);
  await vi.waitUntil(() => looks > 0);
  expect(looks).toBe(1);

  await sendDue();
  noteCompleted(another);
  await another.close();
  expect(await jobsOf()).toHaveLength(2);
});

test("a step that is refused ends its place, which keeps its result and goes on when it is tried again", async () => {
  const { services } = scene;
  const { id, results } = await sendDue(1, upscale, upscale);
  await removeImages(services, { ownerId: scene.owner.userId, ids: results });
  expect(await beginSteps(services)).toBe(0);
  const stopped = await open(id);
  expect(stopped).toMatchObject({ status: "ended", counts: { failed: 1 }, endedAt: expect.any(String) });
  expect(stopped.jobs[0]?.steps).toMatchObject({ begun: 0, count: 2, stopped: { code: "not_found" } });
  expect(await countDeliveries(id)).toBe(1);
  // Tried again while it still cannot: it says so, and ends anew.
  expect(await retryBatch(services, { submitter: scene.as.submitter, id })).toMatchObject({
    retried: 0,
    refused: [{ position: 0, code: "not_found" }],
  });
  expect(await countDeliveries(id)).toBe(2);
  await restoreImages(services, { ownerId: scene.owner.userId, ids: results });
  expect(await retryBatch(services, { submitter: scene.as.submitter, id })).toEqual({
    retried: 1,
    refused: [],
  });
  expect(await open(id)).toMatchObject({ status: "open", endedAt: null, counts: { waiting: 1 } });
});

test("a job that fails ends its place, and its retry is followed by what was to follow", async () => {
  const { services } = scene;
  const { id, jobIds } = await send([twice(upscale)]);
  await services.db
    .update(schema.jobs)
    .set({ status: "failed", errorCode: "engine_failed", endedAt: new Date() })
    .where(eq(schema.jobs.id, jobIds[0] ?? ""));
  expect(await open(id)).toMatchObject({
    status: "ended",
    endedAt: expect.any(String),
    counts: { failed: 1 },
  });
  await retryBatch(services, { submitter: scene.as.submitter, id });
  await complete((await open(id)).jobs[0]?.job?.id ?? "");
  expect(await beginSteps(services)).toBe(1);
  expect(await open(id)).toMatchObject({ status: "open", jobs: [{ steps: { begun: 1 } }] });
});

/** Reads the plan of what `work` reads of steps: how many rows of the table were looked at. */
async function countStepsRead(work: () => Promise<unknown>): Promise<number> {
  const { db } = scene.services;
  const execute = vi.spyOn(db, "execute");
  await work();
  const query = execute.mock.calls[0]?.[0];
  execute.mockRestore();
  return db.transaction(async (tx) => {
    // So that a table of a few pages is read as a large one is.
    await tx.execute(sql`set local enable_seqscan = off`);
    const explain = sql`explain (analyze, format json) `.append(query as SQL);
    const [row] = await tx.execute<{ "QUERY PLAN": readonly { Plan: PlanNode }[] }>(explain);
    return rowsOf(row?.["QUERY PLAN"][0]?.Plan);
  });
}

interface PlanNode {
  readonly "Relation Name"?: string;
  readonly "Actual Rows": number;
  readonly "Actual Loops": number;
  readonly "Rows Removed by Filter"?: number;
  readonly Plans?: readonly PlanNode[];
}

function rowsOf(node: PlanNode | undefined): number {
  if (!node) return 0;
  const { "Actual Rows": rows, "Rows Removed by Filter": removed = 0, "Actual Loops": loops } = node;
  const own = node["Relation Name"] === "batch_steps" ? (rows + removed) * loops : 0;
  return (node.Plans ?? []).reduce((sum, one) => sum + rowsOf(one), own);
}

test("what was to follow jobs that failed is not read for ever, and a retry is followed by it", async () => {
  const { services } = scene;
  const { db } = services;
  const failed = await send(Array.from({ length: 100 }, () => twice(upscale)));
  await db
    .update(schema.jobs)
    .set({ status: "failed", errorCode: "engine_failed", errorMessage: "No.", endedAt: new Date() })
    .where(inArray(schema.jobs.id, [...failed.jobIds]));
  expect(await open(failed.id)).toMatchObject({ status: "ended" });
  const running = await send([twice(upscale), twice(upscale)]);
  await complete(running.jobIds[0] ?? "");
  const isLeft = sql`begun_at is null and stopped_code is null and batch_id in
    (select id from batches where ended_at is null and deleted_at is null)`;
  const left = await db.$count(schema.batchSteps, isLeft);
  expect(left).toBeLessThan(10);
  let begun = 0;
  const read = await countStepsRead(async () => {
    begun = await beginSteps(services);
  });
  expect(begun).toBe(1);
  // The plan says numbers of rows in hundredths.
  expect(Math.floor(read)).toBeLessThanOrEqual(left);
  const again = await retry(services, { id: failed.jobIds[7] ?? "", submitter: scene.as.submitter });
  expect((await open(failed.id)).endedAt).toBeNull();
  await complete(again.id);
  expect(await beginSteps(services)).toBe(1);
});

test("a batch that ends at the moment at which it is tried again stays open until what follows has run", async () => {
  const { services } = scene;
  const { db } = services;
  const { id, jobIds } = await send([twice(upscale), twice()]);
  const [stopped = "", last = ""] = jobIds;
  const end = {
    status: "failed",
    errorCode: "engine_failed",
    errorMessage: "No.",
    endedAt: new Date(),
  } as const;
  await db.update(schema.jobs).set(end).where(eq(schema.jobs.id, stopped));
  const retrying = await db.transaction(async (tx) => {
    // The batch has ended for this transaction, and for no other one.
    await tx.update(schema.jobs).set(end).where(eq(schema.jobs.id, last));
    const answer = retry(services, { id: stopped, submitter: scene.as.submitter });
    await Promise.race([answer, setTimeout(1_000)]);
    return { answer };
  });
  const again = await retrying.answer;
  expect((await open(id)).endedAt).toBeNull();
  await complete(again.id);
  expect(await beginSteps(services)).toBe(1);
});

test("a cancel between two jobs holds, and a retry goes on from there", async () => {
  const { services } = scene;
  const { id } = await sendDue(2);
  expect(await cancelBatch(services, address(id))).toEqual({ cancelled: 2 });
  expect(await beginSteps(services)).toBe(0);
  expect(await open(id)).toMatchObject({
    status: "ended",
    endedAt: expect.any(String),
    counts: { cancelled: 2 },
  });
  expect(await retryBatch(services, { submitter: scene.as.submitter, id })).toEqual({
    retried: 2,
    refused: [],
  });
  expect(await open(id)).toMatchObject({ status: "open", endedAt: null, counts: { waiting: 2 } });
});

test("F11 a cancel beside the begin of steps leaves no job that runs on", async () => {
  const { services } = scene;
  const { id } = await sendDue(12);
  await Promise.all([beginSteps(services), cancelBatch(services, address(id)), beginSteps(services)]);
  await beginSteps(services);
  expect(await open(id)).toMatchObject({ status: "ended", counts: { cancelled: 12 } });
  const { jobs } = schema;
  const left = and(eq(jobs.ownerId, scene.owner.userId), eq(jobs.status, "pending"));
  expect(await services.db.$count(jobs, left)).toBe(0);
});

test("a job that completes in spite of its cancel is not followed", async () => {
  const { services } = scene;
  const { id, jobIds } = await send([twice(upscale)]);
  await services.db
    .update(schema.jobs)
    .set({ cancelRequestedAt: new Date() })
    .where(eq(schema.jobs.id, jobIds[0] ?? ""));
  await complete(jobIds[0] ?? "");
  expect(await beginSteps(services)).toBe(0);
  expect(await open(id)).toMatchObject({
    status: "ended",
    counts: { cancelled: 1 },
    endedAt: expect.any(String),
  });
  // Who tries the batch again wants what follows.
  expect(await retryBatch(services, { submitter: scene.as.submitter, id })).toEqual({
    retried: 1,
    refused: [],
  });
  expect(await open(id)).toMatchObject({ status: "open", jobs: [{ steps: { begun: 1, stopped: null } }] });
});

test("a retried job of a removed batch is a job of its own, which nothing follows", async () => {
  const { services } = scene;
  const { id, jobIds } = await send([twice(upscale)]);
  await removeBatch(services, address(id));
  const again = await retry(services, { submitter: scene.as.submitter, id: jobIds[0] ?? "" });
  const result = await complete(again.id);
  expect(await beginSteps(services)).toBe(0);
  await services.db
    .update(schema.batches)
    .set({ deletedAt: new Date(Date.now() - services.config.retention.undoDeleteMs - 1_000) })
    .where(eq(schema.batches.id, id));
  expect(await purgeBatches(services)).toBe(1);
  expect(await getImage(services, { ownerId: scene.owner.userId, id: result })).toMatchObject({ id: result });
});

test("what a removed batch still makes goes with it, also where it stands at the day of an old photo", async () => {
  const { services, owner } = scene;
  const { id, jobIds } = await send([twice(), twice()]);
  const early = await complete(jobIds[0] ?? "");
  await removeBatch(services, address(id));
  // Its owner wants it back.
  await restoreImages(services, { ownerId: owner.userId, ids: [early] });
  const late = await complete(jobIds[1] ?? "");
  const turned = { addedAt: sql`created_at`, createdAt: new Date("2019-05-01T12:00:00Z") };
  await services.db.update(schema.images).set(turned).where(eq(schema.images.id, late));
  const longAgo = sql`${services.config.retention.undoDeleteMs + 1_000} * interval '1 ms'`;
  const made = { createdAt: sql`created_at - ${longAgo}`, addedAt: sql`added_at - ${longAgo}` };
  await services.db
    .update(schema.images)
    .set(made)
    .where(inArray(schema.images.id, [early, late]));
  await services.db
    .update(schema.batches)
    .set({ deletedAt: sql`deleted_at - ${longAgo}` })
    .where(eq(schema.batches.id, id));
  expect(await purgeBatches(services)).toBe(1);
  const read = (imageId: string) => getImage(services, { ownerId: owner.userId, id: imageId });
  expect(await read(early)).toMatchObject({ id: early });
  await expect(read(late)).rejects.toMatchObject({ code: "not_found" });
});

test("no step of a batch begins once it is removed", async () => {
  const { services } = scene;
  const { id } = await sendDue();
  await services.db
    .update(schema.batches)
    .set({ deletedAt: sql`now()` })
    .where(eq(schema.batches.id, id));
  expect(await beginSteps(services)).toBe(0);
});

test("a mask that a coming step names stays until that step has it", async () => {
  const { services, owner } = scene;
  const bytes = await sharp({ create: { width: 32, height: 32, channels: 3, background: "white" } })
    .png()
    .toBuffer();
  const names = { ownerId: owner.userId, role: "mask" } as const;
  const mask = await ingest(services, { ...names, bytes });
  const { id } = await send([twice({ kind: "inpaint", inputs: { mask: mask.id } })]);
  await services.db
    .update(schema.images)
    .set({ createdAt: sql`now() - interval '61 minutes'` })
    .where(eq(schema.images.id, mask.id));
  expect(await purgeDeleted(services)).toBe(0);
  await removeBatch(services, address(id));
  await services.db.delete(schema.batches).where(eq(schema.batches.id, id));
  expect(await purgeDeleted(services)).toBe(1);
});

test("F9 a worker killed with -9 after a job completed: another one begins its step", async ({
  onTestFinished,
}) => {
  // Without jobs of other tests, which the first worker would take.
  const own = await createTestServices();
  onTestFinished(() => own.close());
  const { services } = own;
  const { userId, imageId } = await addOwner(services);
  const jobs = [{ ...upscale, inputs: { image: imageId }, steps: [upscale] }];
  const { id, jobIds } = await submitBatch(services, { jobs }, submitting(userId));
  const read = () => getBatch(services, { ownerId: userId, id });
  const first = await startTestWorker(services, { pauseAt: ["completed"] });
  await first.waitFor(/paused completed/);
  await first.kill9();
  expect((await read()).jobs[0]).toMatchObject({
    job: { id: jobIds[0], status: "completed" },
    steps: { begun: 0 },
  });
  const second = await startTestWorker(services);
  await vi.waitUntil(async () => (await read()).status === "ended", { timeout: 60_000 });
  await second.kill9();
  expect(await read()).toMatchObject({ counts: { completed: 1 }, jobs: [{ steps: { begun: 1 } }] });
});

test("a step whose prompt was drawn keeps what it was made from", async () => {
  await addNode(scene.services, { queue: "gpu-high", needs: ["comfyui/edit_flux2_klein_4b"] });
  const edit = { kind: "edit", params: { prompt: "a {red|red} hat" }, template: { styles: ["Cinematic"] } };
  const { id, jobIds } = await send([twice(edit)]);
  await complete(jobIds[0] ?? "");
  await beginSteps(scene.services, { batchId: id });
  const [place] = (await open(id)).jobs;
  const [job] = await scene.services.db
    .select()
    .from(schema.jobs)
    .where(eq(schema.jobs.id, place?.job?.id ?? ""));
  expect(job?.kind).toBe("edit");
  expect(job?.params["prompt"]).toMatch(/a red hat/);
  expect(job?.template).toMatchObject({
    prompt: "a {red|red} hat",
    styles: [expect.objectContaining({ name: "Cinematic" })],
  });
});

test("S1 of the batches of a revoked key nothing more is begun, until the owner tries again", async () => {
  const { services } = scene;
  const { userId } = scene.owner;
  const { apiKeys } = schema;
  const addKey = async (name: string) => (await createApiKey(services, { userId, name })).id;
  const sendBy = async (keyId: string | undefined) => {
    const submitter = { userId, isGuest: false, ...(keyId === undefined ? {} : { keyId }) };
    const job = twice(upscale, upscale);
    const options = { submitter, signal: new AbortController().signal };
    const { id, jobIds } = await submitBatch(services, { jobs: [job, job] }, options);
    await complete(jobIds[0] ?? "");
    return { id, jobIds };
  };
  const [gone, live, ended] = [await addKey("gone"), await addKey("live"), await addKey("ended")];
  const [revoked, kept, over] = [await sendBy(gone), await sendBy(live), await sendBy(ended)];
  const ofSession = await sendBy(undefined);
  // Nothing but the key itself ends: the process stops behind it.
  await revokeApiKey(services, { userId, id: gone });
  // A request that was let in before, and stores its batch after.
  const late = await sendBy(gone);
  // The end that a key was made with ends no batch, also once the row is swept.
  await services.db.delete(apiKeys).where(eq(apiKeys.id, ended));
  expect(await beginSteps(services)).toBe(3);
  const message = "The API key that sent the batch was revoked.";
  const stopped = { begun: 0, stopped: { code: "cancelled", message } };
  for (const { id } of [revoked, late])
    expect(await open(id)).toMatchObject({ jobs: [{ steps: stopped }, {}] });
  for (const { id } of [kept, over, ofSession])
    expect(await open(id)).toMatchObject({ jobs: [{ steps: { begun: 1 } }, { steps: { stopped: null } }] });
  // The job that waited still runs; then the batch has ended.
  await complete(revoked.jobIds[1] ?? "");
  expect(await beginSteps(services)).toBe(0);
  expect(await open(revoked.id)).toMatchObject({
    status: "ended",
    jobs: [{ steps: stopped }, { steps: stopped }],
  });
  await retryBatch(services, { submitter: scene.as.submitter, id: revoked.id });
  const begunAgain = { begun: 1, stopped: null };
  const { jobs: places } = await open(revoked.id);
  expect(places).toMatchObject([{ steps: begunAgain }, { steps: begunAgain }]);
  // And so on to the end.
  for (const { job } of places) await complete(job?.id ?? "");
  expect(await beginSteps(services)).toBe(2);
  await stopStepsOfKey(services, { userId: "another user", id: live });
  expect(await open(kept.id)).toMatchObject({ jobs: [{}, { steps: { stopped: null } }] });
  await stopStepsOfKey(services, { userId, id: live });
  expect(await open(kept.id)).toMatchObject({ jobs: [{}, { steps: stopped }] });
});

test("a batch is read as of one moment, while its places go on to their next jobs", async () => {
  const { db } = scene.services;
  const { id, jobIds } = await sendDue(3);
  await beginSteps(scene.services);
  const next = await db.select().from(schema.batchJobs).where(eq(schema.batchJobs.batchId, id));
  const nameOf = new Map<string | undefined, string>([
    ...jobIds.map((jobId) => [jobId, "first"] as const),
    ...next.map(({ jobId }) => [jobId, "next"] as const),
  ]);
  const isOfBatch = sql`batch_id = ${id}`;
  let isOver = false;
  /** Back to the first jobs and on again, as one change each. */
  const move = (async () => {
    for (let at = 0; !isOver; at += 1)
      await db.transaction(async (tx) => {
        const isBack = at % 2 === 0;
        for (const { position, jobId } of next)
          await tx.execute(sql`update batch_jobs set job_id = ${isBack ? (jobIds[position] ?? "") : jobId}
            where ${isOfBatch} and position = ${position}`);
        await tx.execute(
          sql`update batch_steps set begun_at = ${isBack ? null : sql`now()`} where ${isOfBatch}`,
        );
      });
  })();
  const seen = new Set<string>();
  for (let count = 0; count < 300; count += 1) {
    const batch = await getBatch(scene.services, address(id));
    for (const { job, steps } of batch.jobs)
      seen.add(`${nameOf.get(job?.id) ?? "no"} job, ${steps?.begun} begun, ${batch.counts.waiting} wait`);
  }
  isOver = true;
  await move;
  expect([...seen].toSorted()).toEqual(["first job, 0 begun, 3 wait", "next job, 1 begun, 3 wait"]);
});
