import { text } from "node:stream/consumers";
import { addImage, addOwner, readJob, until, untilAll } from "@atelier/testing/jobs";
import { openBatchScene } from "@atelier/testing/scenes";
import { whileCut } from "@atelier/testing/postgres";
import { startTestWorker } from "@atelier/testing/worker";
import { eq } from "drizzle-orm";
import sharp from "sharp";
import { expect, test } from "vitest";
import { schema } from "../db/index.ts";
import { listImages, removeImages } from "../images/index.ts";
import { get } from "../jobs/index.ts";
import { newId } from "../platform/index.ts";
import { labelOf } from "./files.ts";
import { parseBatch } from "./request.ts";
import {
  cancelBatch,
  estimateBatch,
  getBatch,
  listBatches,
  makeContactSheet,
  openBatchZip,
  purgeBatches,
  removeBatch,
  restoreBatch,
  retryBatch,
  streamBatch,
} from "./index.ts";

const scene = openBatchScene();

const upscale = (image: string, params: object = {}) => ({ kind: "upscale", inputs: { image }, params });
const { send, open } = scene;
const countJobs = () => scene.services.db.$count(schema.jobs, eq(schema.jobs.ownerId, scene.owner.userId));

async function endJob(id: string, status: "completed" | "failed"): Promise<void> {
  await scene.services.db
    .update(schema.jobs)
    .set({ status, endedAt: new Date(), errorCode: status === "failed" ? "engine_failed" : null })
    .where(eq(schema.jobs.id, id));
}

test("a batch of axes has a job for each combination, the last axis varying fastest", async () => {
  const images = [scene.owner.imageId, await addImage(scene.services, scene.owner.userId)];
  const axes = [
    { param: "inputs.image", values: images },
    { param: "seed", values: [7, 8] },
  ];
  const { id, jobIds } = await send({ title: "Two seeds", base: { kind: "upscale" }, axes });
  const batch = await open(id);
  expect(batch).toMatchObject({ title: "Two seeds", axes, size: 4, status: "open", progress: 0 });
  expect(batch.counts).toEqual({
    waiting: 4,
    running: 0,
    completed: 0,
    failed: 0,
    cancelled: 0,
    removed: 0,
  });
  expect(batch.jobs.map(({ job }) => job?.id)).toEqual(jobIds);
  const asked = batch.jobs.map(({ job }) => [job?.inputs[0]?.imageId, job?.params["seed"]]);
  expect(asked).toEqual(images.flatMap((image) => [7, 8].map((seed) => [image, seed])));
  expect(batch.jobs.map(({ values }) => Object.values(values))).toEqual(asked);
});

test("members vary along an axis, also those of a step", async () => {
  const along = [
    { param: "seed", values: [5, 6] },
    { param: "steps.1.seed", values: [8, 9] },
  ];
  const images = [scene.owner.imageId, await addImage(scene.services, scene.owner.userId)];
  const { id } = await send({
    base: { kind: "upscale", steps: [{ kind: "upscale" }] },
    axes: [
      { param: "inputs.image", values: images, along },
      { param: "strength", values: [0.1, 0.2] },
    ],
  });
  const { jobs } = await open(id);
  expect(
    jobs.map(({ job, values }) => [job?.inputs[0]?.imageId, job?.params["seed"], values["strength"]]),
  ).toEqual([
    [images[0], 5, 0.1],
    [images[0], 5, 0.2],
    [images[1], 6, 0.1],
    [images[1], 6, 0.2],
  ]);
  expect(jobs[3]?.values).toEqual({ "inputs.image": images[1], seed: 6, "steps.1.seed": 9, strength: 0.2 });
  const steps = await scene.services.db
    .select()
    .from(schema.batchSteps)
    .where(eq(schema.batchSteps.batchId, id))
    .orderBy(schema.batchSteps.position);
  expect(steps.map(({ request }) => Object(request["params"]).seed)).toEqual([8, 8, 9, 9]);
});

test("a list names its rows and columns, which change none of its jobs", async () => {
  const images = [scene.owner.imageId, await addImage(scene.services, scene.owner.userId)];
  const { id } = await send({
    jobs: images.flatMap((image) => [upscale(image), upscale(image, { seed: 4 })]),
    axes: [
      { param: "inputs.image", values: images },
      {
        param: "inputs.garment",
        values: ["one", "two"],
        along: [{ param: "inputs.garment2", values: ["", "three"] }],
      },
    ],
  });
  const { jobs } = await open(id);
  expect(
    jobs.map(({ job, values }) => [job?.inputs, values["inputs.image"], values["inputs.garment2"]]),
  ).toEqual(
    [0, 0, 1, 1].map((row, at) => [
      [expect.objectContaining({ imageId: images[row] })],
      images[row],
      at % 2 ? "three" : "",
    ]),
  );
});

test("all jobs of a batch are accepted or none, and the error names the first that is not", async () => {
  const jobs = [upscale(scene.owner.imageId), upscale(newId()), upscale(scene.owner.imageId, { scale: 3 })];
  await expect(send({ jobs })).rejects.toMatchObject({
    code: "not_found",
    message: expect.stringContaining("Job 2:"),
    details: { position: 1, refused: 2 },
  });
  expect(await countJobs()).toBe(0);
  const { limits } = scene.services.config;
  await send({ jobs: Array.from({ length: limits.openJobs - 1 }, () => upscale(scene.owner.imageId)) });
  await expect(
    send({ jobs: [upscale(scene.owner.imageId), upscale(scene.owner.imageId)] }),
  ).rejects.toMatchObject({
    code: "quota_exceeded",
  });
  expect(await countJobs()).toBe(limits.openJobs - 1);
});

const fifteen = Array.from({ length: 15 }, (_, at) => at);

test.each([
  ["neither form", "bad_request", {}],
  ["no job", "bad_request", { jobs: [] }],
  ["more jobs than a batch may have", "bad_request", { jobs: Array.from({ length: 201 }, () => ({})) }],
  ["both forms", "bad_request", { jobs: [{}], base: {}, axes: [{ param: "seed", values: [1] }] }],
  [
    "names for more places than its list has",
    "workflow_params",
    { jobs: [{}], axes: [{ param: "seed", values: [1, 2] }] },
  ],
  ["a job that is none", "bad_request", { jobs: [{ kind: "upscale" }] }],
  [
    "axes that make too many jobs",
    "workflow_params",
    { base: {}, axes: ["seed", "steps"].map((param) => ({ param, values: fifteen })) },
  ],
  [
    "two axes of one param",
    "workflow_params",
    { base: {}, axes: [1, 2].map((seed) => ({ param: "seed", values: [seed] })) },
  ],
  [
    "members along an axis with other numbers of values",
    "workflow_params",
    { base: {}, axes: [{ param: "seed", values: [1, 2], along: [{ param: "steps", values: [1] }] }] },
  ],
  [
    "an axis of a step that is not there",
    "workflow_params",
    { base: { steps: [{}] }, axes: [{ param: "steps.2.seed", values: [1] }] },
  ],
  [
    "axes that do not fit its base",
    "workflow_params",
    { base: { kind: "upscale" }, axes: [{ param: "toString", values: [1] }] },
  ],
])("a batch with %s is refused", async (_name, code, input) => {
  await expect(send(input)).rejects.toMatchObject({ code });
  expect(await countJobs()).toBe(0);
});

test("twenty repetitions of a request with one key make one batch; another body is a conflict", async () => {
  const input = { jobs: [upscale(scene.owner.imageId), upscale(scene.owner.imageId)] };
  const answers = await Promise.all(Array.from({ length: 20 }, () => send(input, "once")));
  expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
  expect(await countJobs()).toBe(2);
  await expect(send({ jobs: [upscale(scene.owner.imageId)] }, "once")).rejects.toMatchObject({
    code: "idempotency_mismatch",
  });
  // The bounds of the price are not part of what is asked for.
  expect(await send({ ...input, maxPriceUsd: 0 }, "once")).toEqual(answers[0]);
});

test("a batch that may cost nothing is bound to that, job by job", async () => {
  const { id } = await send({ jobs: [upscale(scene.owner.imageId)], maxPriceUsd: 0 });
  const [place] = (await open(id)).jobs;
  expect(await readJob(scene.services, place?.job?.id ?? "")).toMatchObject({
    agreed: { maxPriceUsd: 0, ownOnly: true },
  });
  const told = await estimateBatch(
    scene.services,
    { jobs: [upscale(scene.owner.imageId), upscale(newId())] },
    scene.as,
  );
  expect(told).toMatchObject({ jobs: 2, cloudJobs: 0, maxPriceUsd: 0 });
  expect(told.refused).toMatchObject([{ position: 1, code: "not_found" }]);
});

test("another user sees no batch and stops none", async () => {
  const { id } = await send({ jobs: [upscale(scene.owner.imageId)] });
  const stranger = await addOwner(scene.services);
  const address = { ownerId: stranger.userId, id };
  await expect(getBatch(scene.services, address)).rejects.toMatchObject({ code: "not_found" });
  await expect(cancelBatch(scene.services, address)).rejects.toMatchObject({ code: "not_found" });
  expect(await listBatches(scene.services, { ownerId: stranger.userId, limit: 10 })).toEqual({
    items: [],
    nextCursor: null,
  });
});

test("F11 twenty jobs that end at the same moment end their batch once, with one webhook", async () => {
  const jobs = Array.from({ length: 20 }, () => upscale(scene.owner.imageId));
  const { id, jobIds } = await send({ jobs, webhookUrl: "https://hooks.example.org/batch" });
  await Promise.all(jobIds.map((jobId, at) => endJob(jobId, at % 2 === 0 ? "completed" : "failed")));
  expect(await open(id)).toMatchObject({ status: "ended", counts: { completed: 10, failed: 10 } });
  expect((await open(id)).endedAt).not.toBeNull();
  const owed = await scene.services.db
    .select()
    .from(schema.deliveries)
    .where(eq(schema.deliveries.batchId, id));
  expect(owed).toMatchObject([{ event: "batch.completed", target: "https://hooks.example.org/batch" }]);
});

test("failed jobs run again in their places; the batch is open again and ends once more", async () => {
  const jobs = [upscale(scene.owner.imageId), upscale(scene.owner.imageId)];
  const { id, jobIds } = await send({ jobs, webhookUrl: "https://hooks.example.org/batch" });
  const [first = "", second = ""] = jobIds;
  await endJob(first, "completed");
  await endJob(second, "failed");
  const again = () => retryBatch(scene.services, { submitter: scene.as.submitter, id });
  expect(await again()).toEqual({ retried: 1, refused: [] });
  const batch = await open(id);
  expect(batch).toMatchObject({ status: "open", endedAt: null, counts: { waiting: 1, completed: 1 } });
  const newJob = batch.jobs[1]?.job;
  expect(newJob).toMatchObject({ retryOf: second });
  await endJob(newJob?.id ?? "", "completed");
  expect(await open(id)).toMatchObject({ status: "ended", counts: { completed: 2 } });
  expect(await scene.services.db.$count(schema.deliveries, eq(schema.deliveries.batchId, id))).toBe(2);
  await expect(again()).rejects.toMatchObject({ code: "conflict" });
});

test("cancel stops what is open and leaves what is done", async () => {
  const { id, jobIds } = await send({ jobs: [upscale(scene.owner.imageId), upscale(scene.owner.imageId)] });
  await endJob(jobIds[0] ?? "", "completed");
  expect(await cancelBatch(scene.services, { ownerId: scene.owner.userId, id })).toEqual({ cancelled: 1 });
  expect(await open(id)).toMatchObject({ status: "ended", counts: { completed: 1, cancelled: 1 } });
});

test("axes take the longest prompts of a list, and no more text than places have use for", () => {
  const prompts = { param: "prompt", values: Array.from({ length: 200 }, () => "p".repeat(4_000)) };
  const parse = (axes: object[]) => parseBatch({ base: { kind: "text_to_image" }, axes }).requests.length;
  expect(parse([{ ...prompts, along: [{ ...prompts, param: "negativePrompt" }] }])).toBe(200);
  const along = Array.from({ length: 8 }, (_, at) => ({ ...prompts, param: `p${at}` }));
  expect(() => parse([{ ...prompts, along }])).toThrow(
    expect.objectContaining({
      code: "bad_request",
      message: expect.stringContaining("at all places together; at most 2000000"),
    }),
  );
  // Short for itself, an axis of one value stands at each place.
  const one = along.map(({ param }) => ({ param, values: ["p".repeat(4_000)] }));
  const seeds = { param: "seed", values: Array.from({ length: 200 }, (_, at) => at) };
  expect(() => parse([{ param: "prompt", values: ["p"], along: one }, seeds])).toThrow(
    expect.objectContaining({ code: "bad_request" }),
  );
});

test.each([
  ["more jobs than there may be", { jobs: Array.from({ length: 201 }, () => ({})) }, /^jobs: [^]*200 items/],
  ["no axis", { base: {}, axes: [] }, /^axes: [^]*1 items/],
  ["neither form", { title: "a list" }, /^jobs: is missing/],
  ["both forms", { jobs: [{}], base: {}, axes: [{ param: "seed", values: [1] }] }, /"jobs"/],
])("a batch of %s is told what is wrong in the form that was meant", (_name, input, told) => {
  expect(() => parseBatch(input)).toThrow(
    expect.objectContaining({ code: "bad_request", message: expect.stringMatching(told) }),
  );
});

test("axes that make too many jobs are told so, however long their values are together", () => {
  const values = Array.from({ length: 80 }, (_, at) => at);
  const axes = ["seed", "steps", "cfg"].map((param) => ({ param, values }));
  expect(() => parseBatch({ base: { kind: "text_to_image" }, axes })).toThrow(
    expect.objectContaining({
      code: "workflow_params",
      message: "The axes make 512000 jobs; a batch has 200 at most.",
    }),
  );
  expect(() => parseBatch({ jobs: [{ kind: "text_to_image" }], axes })).toThrow(
    expect.objectContaining({
      code: "workflow_params",
      message: "The axes name 512000 places; the list has 1.",
    }),
  );
});

test("the axes of a list have no more text than places have use for", () => {
  const jobs = Array.from({ length: 200 }, () => ({ kind: "text_to_image" }));
  const values = jobs.map(() => "p".repeat(4_000));
  const along = Array.from({ length: 8 }, (_, at) => ({ param: `p${at}`, values }));
  expect(() => parseBatch({ jobs, axes: [{ param: "prompt", values, along }] })).toThrow(
    expect.objectContaining({ code: "bad_request" }),
  );
});

test("names in the zip keep letters with marks whole, and are cut between letters", () => {
  expect(labelOf({ values: { prompt: "हिन्दी की/किताब" } })).toBe("_prompt-हिन्दी-की-किताब");
  expect(labelOf({ values: { prompt: "café".normalize("NFD") } })).toBe("_prompt-café".normalize("NFC"));
  expect(labelOf({ values: { x: "𠮷".repeat(80) } }).isWellFormed()).toBe(true);
  expect(labelOf({ values: { x: "é".normalize("NFD").repeat(200) } })).toBe(`_x-${"é".repeat(58)}`);
});

test("D1 a worker runs a batch: its events end with the last job, and its zip and its sheet have the results", async () => {
  const { services } = scene;
  const { id, jobIds } = await send({
    base: upscale(scene.owner.imageId),
    axes: [{ param: "seed", values: [7, 8] }],
  });
  const address = { ownerId: scene.owner.userId, id };
  const events: string[] = [];
  const following = (async () => {
    for await (const event of streamBatch(services, { ...address, signal: scene.as.signal }))
      if (event) events.push(event.status);
  })();
  const worker = await startTestWorker(services);
  await untilAll(services, jobIds, { statuses: ["completed"] });
  await following;
  await worker.kill9();
  expect([events[0], events.at(-1)]).toEqual(["open", "ended"]);
  const zip = await text(await openBatchZip(services, address));
  for (const name of ["batch.json", "1_seed-7.", "2_seed-8."]) expect(zip).toContain(name);
  const sheet = await sharp(await makeContactSheet(services, { ...address, cellPx: 64 })).metadata();
  expect(sheet).toMatchObject({ format: "png", width: 8 + 2 * 72, height: 8 + 72 + 18 });
  expect(await get(services, { ownerId: scene.owner.userId, id: jobIds[0] ?? "" })).toMatchObject({
    status: "completed",
  });
  expect(await until(services, jobIds[1] ?? "", "completed")).toMatchObject({ charged: 0 });
});

test("a removed batch is gone with its results, comes back with them, and goes for good after the time for undo", async () => {
  const { services } = scene;
  const { id, jobIds } = await send(
    { jobs: [upscale(scene.owner.imageId), upscale(scene.owner.imageId)] },
    "kept",
  );
  const worker = await startTestWorker(services);
  const { outputs } = await until(services, jobIds[0] ?? "", "completed").then(() =>
    get(services, { ownerId: scene.owner.userId, id: jobIds[0] ?? "" }),
  );
  await untilAll(services, jobIds, { statuses: ["completed"] });
  await worker.kill9();
  const address = { ownerId: scene.owner.userId, id };
  const shown = async () => {
    const { items } = await listImages(services, { ownerId: scene.owner.userId, limit: 50, role: "result" });
    return items.map((image) => image.id);
  };
  const deletedBefore = (await open(id)).jobs[1]?.job?.outputs[0]?.imageId ?? "";
  await removeImages(services, { ownerId: scene.owner.userId, ids: [deletedBefore] });
  const stranger = await addOwner(services);
  await expect(removeBatch(services, { ...address, ownerId: stranger.userId })).rejects.toMatchObject({
    code: "not_found",
  });
  expect(await removeBatch(services, address)).toEqual({ id, imageIds: [outputs[0]?.imageId] });
  expect(await shown()).toEqual([]);
  await expect(open(id)).rejects.toMatchObject({ code: "not_found" });
  expect((await listBatches(services, { ownerId: scene.owner.userId, limit: 10 })).items).toEqual([]);
  await expect(
    send({ jobs: [upscale(scene.owner.imageId), upscale(scene.owner.imageId)] }, "kept"),
  ).rejects.toMatchObject({ code: "conflict" });
  await expect(restoreBatch(services, { ...address, ownerId: stranger.userId })).rejects.toMatchObject({
    code: "not_found",
  });
  expect(await purgeBatches(services)).toBe(0);
  expect(await restoreBatch(services, address)).toEqual({ id, imageIds: [outputs[0]?.imageId] });
  expect(await shown()).toEqual([outputs[0]?.imageId]);
  expect(await open(id)).toMatchObject({ status: "ended", counts: { completed: 2 } });

  await removeBatch(services, address);
  await services.db
    .update(schema.batches)
    .set({ deletedAt: new Date(Date.now() - services.config.retention.undoDeleteMs - 1_000) })
    .where(eq(schema.batches.id, id));
  await expect(restoreBatch(services, address)).rejects.toMatchObject({ code: "not_found" });
  expect(await purgeBatches(services)).toBe(1);
  expect(await countJobs()).toBe(2);
});

test("a removal of a batch that ends in the middle is as if it had not begun, and so is a restore", async () => {
  const { services } = scene;
  const { id, jobIds } = await send({ jobs: [upscale(scene.owner.imageId)] });
  const worker = await startTestWorker(services);
  await untilAll(services, jobIds, { statuses: ["completed"] });
  await worker.kill9();
  const address = { ownerId: scene.owner.userId, id };
  const { outputs } = await get(services, { ownerId: scene.owner.userId, id: jobIds[0] ?? "" });
  const imageIds = outputs.map(({ imageId }) => imageId);
  expect(imageIds).toHaveLength(1);
  const cut = { table: "images", times: 1 };
  await whileCut(services, cut, () => expect(removeBatch(services, address)).rejects.toThrow(/Failed query/));
  expect(await open(id)).toMatchObject({ status: "ended" });
  expect(await removeBatch(services, address)).toEqual({ id, imageIds });
  await whileCut(services, cut, () =>
    expect(restoreBatch(services, address)).rejects.toThrow(/Failed query/),
  );
  await expect(open(id)).rejects.toMatchObject({ code: "not_found" });
  expect(await restoreBatch(services, address)).toEqual({ id, imageIds });
  expect(await open(id)).toMatchObject({ status: "ended" });
  // At whatever part of a millisecond.
  for (let times = 0; times < 10; times += 1) {
    expect(await removeBatch(services, address)).toEqual({ id, imageIds });
    expect(await restoreBatch(services, address)).toEqual({ id, imageIds });
  }
  // Also where two ask for the removal at once, as by a double click: one of them removes it.
  for (let times = 0; times < 10; times += 1) {
    const removals = [removeBatch(services, address), removeBatch(services, address)];
    const settled = await Promise.allSettled(removals);
    expect(settled.filter(({ status }) => status === "fulfilled")).toMatchObject([
      { value: { id, imageIds } },
    ]);
    expect(await restoreBatch(services, address)).toEqual({ id, imageIds });
  }
  // Without a result that comes back the batch is back all the same.
  await removeImages(services, { ownerId: scene.owner.userId, ids: imageIds });
  expect(await removeBatch(services, address)).toEqual({ id, imageIds: [] });
  expect(await restoreBatch(services, address)).toEqual({ id, imageIds: [] });
  expect(await open(id)).toMatchObject({ status: "ended" });
});

test("an axis replaces words of the prompts as the page does, and puts a style beside others", async () => {
  const base = {
    kind: "text_to_image",
    params: { prompt: "a red fox, red sky", negativePrompt: "red fur" },
    template: { styles: ["Ink drawing"] },
  };
  const estimate = (axes: object[], more: object = {}) =>
    estimateBatch(scene.services, { base: { ...base, ...more }, axes }, scene.as);
  const words = { param: "prompt", replaces: "red", values: ["red", "$& blue"] };
  const style = { param: "style", values: ["Cinematic", "Ink drawing"] };
  const { requests } = parseBatch({ base, axes: [words, style] });
  expect(requests.map(({ request }) => request)).toMatchObject([
    { params: base.params, template: { styles: ["Ink drawing", "Cinematic"] } },
    { params: base.params, template: { styles: ["Ink drawing"] } },
    { params: { prompt: "a $& blue fox, $& blue sky", negativePrompt: "$& blue fur" } },
    { params: { prompt: "a $& blue fox, $& blue sky" } },
  ]);
  await expect(estimate([{ ...words, replaces: "hat" }])).rejects.toMatchObject({
    code: "workflow_params",
    message: '"hat" is not in the prompt, so nothing would be replaced.',
  });
  for (const [prompt, value] of [
    ["a".repeat(100_000), "b".repeat(4_000)],
    ["a".repeat(4_000), "bb"],
    ["a b", "b".repeat(4_000)],
  ])
    expect(() =>
      parseBatch({
        base: { ...base, params: { prompt } },
        axes: [{ param: "prompt", replaces: "a", values: Array.from({ length: 200 }, () => value) }],
      }),
    ).toThrow("With its words in place a prompt has more than 4000 characters.");
  await expect(estimate([{ param: "seed", replaces: "red", values: [1] }])).rejects.toMatchObject({
    code: "workflow_params",
  });
  const eight = { styles: Array.from({ length: 8 }, (_, at) => `Style ${at}`) };
  await expect(estimate([style], { template: eight })).rejects.toMatchObject({
    code: "workflow_params",
    message: "With the styles that are on these are 9; at most 8 go together.",
  });
});
